// glim ckpt ls: the checkpoints of a directory, and which of them count.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "cli/checkpoints/checkpoint_view.h"
#include "cli/checkpoints/place.h"
#include "cli/commands/ckpt.h"
#include "cli/text/render_json.h"

namespace glim::cli {
namespace {

// A checkpoint that was pruned since it was listed is left out.
Result<std::vector<CheckpointRow>> RowsOf(const CheckpointPlace& place) {
  const auto visible = place.directory->Visible();
  if (!visible.ok()) return visible.status();
  const auto all = place.directory->All();
  if (!all.ok()) return all.status();
  std::vector<CheckpointRow> rows;
  for (const checkpoint::CheckpointId id : *all) {
    if (place.id && id != *place.id) continue;
    const auto opened = checkpoint::OpenCheckpoint(*place.directory, id, {});
    if (!opened.ok() && opened.status().code() == StatusCode::kNotFound) continue;
    CheckpointRow& row = rows.emplace_back();
    row.id = id;
    row.path = place.PathOf(id);
    row.counts = std::find(visible->begin(), visible->end(), id) != visible->end();
    row.newest = row.counts && id == visible->back();
    if (opened.ok()) {
      row.manifest = (*opened)->manifest();
    } else {
      row.fault = opened.status().message();
    }
  }
  return rows;
}

Status RunCkptLs(CommandContext& context, const std::string& path) {
  const auto place = FindPlace(path);
  if (!place.ok()) return place.status();
  const auto rows = RowsOf(*place);
  if (!rows.ok()) return rows.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["directory"] = place->root;
    document["checkpoints"] = CheckpointsJson(*rows);
    context.output.Data(DumpJson(document));
  } else if (rows->empty()) {
    context.output.Note(fmt::format("no checkpoints in {}", place->root));
  } else {
    context.output.Data(CheckpointsTable(*rows, Now(), context.output.colour()));
  }
  return Status::Ok();
}

}  // namespace

void AddCkptLs(Syntax ckpt, Selection* selection) {
  const auto path = std::make_shared<std::string>();
  Syntax command = ckpt.AddCommand("ls", "List the checkpoints of a directory");
  command.Example("glim ckpt ls /data/ckpt/812");
  command.Option("DIR", path.get(), "a job's checkpoint directory", Presence::kRequired);
  command.OnChosen([=] { selection->run = [path](CommandContext& context) { return RunCkptLs(context, *path); }; });
}

}  // namespace glim::cli
