// glim ckpt diff: which tensors differ between two checkpoints.
#include <memory>

#include <fmt/format.h>

#include "cli/checkpoints/checkpoint_view.h"
#include "cli/checkpoints/compare.h"
#include "cli/checkpoints/place.h"
#include "cli/commands/ckpt.h"
#include "cli/text/render_json.h"

namespace glim::cli {
namespace {

struct CkptDiffOptions {
  std::string first;
  std::string second;
};

Status RunCkptDiff(CommandContext& context, const CkptDiffOptions& options) {
  const auto first_place = FindPlace(options.first);
  if (!first_place.ok()) return first_place.status();
  const auto second_place = FindPlace(options.second);
  if (!second_place.ok()) return second_place.status();
  const auto first = OpenOne(*first_place);
  if (!first.ok()) return first.status();
  const auto second = OpenOne(*second_place);
  if (!second.ok()) return second.status();
  const auto comparison = Compare(**first, **second);
  if (!comparison.ok()) return comparison.status();
  const std::size_t changed = comparison->changes.size();
  if (context.output.json()) {
    Json document = NewDocument();
    document["first"] = first_place->PathOf((*first)->id());
    document["second"] = second_place->PathOf((*second)->id());
    document["same"] = comparison->same;
    document["changes"] = ChangesJson(comparison->changes);
    context.output.Data(DumpJson(document));
  } else if (changed > 0) {
    context.output.Data(ChangesTable(comparison->changes, context.output.colour()));
  }
  if (changed == 0) {
    context.output.Note(fmt::format("all {} tensors are the same", comparison->same));
    return Status::Ok();
  }
  return Status(StatusCode::kUnknown, fmt::format("{} of {} tensors differ", changed, changed + comparison->same))
      .WithReason("DIFFERENT");
}

}  // namespace

void AddCkptDiff(Syntax ckpt, Selection* selection) {
  const auto options = std::make_shared<CkptDiffOptions>();
  Syntax command = ckpt.AddCommand("diff", "Compare two checkpoints: 0 the same, 1 different");
  command.Example("glim ckpt diff /data/ckpt/812 /data/ckpt/813");
  const char* const kHelp = "DIR/attempt-N/step-S; of a DIR the newest that counts";
  command.Option("A", &options->first, kHelp, Presence::kRequired);
  command.Option("B", &options->second, kHelp, Presence::kRequired);
  command.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunCkptDiff(context, *options); }; });
}

}  // namespace glim::cli
