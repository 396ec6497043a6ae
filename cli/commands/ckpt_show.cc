// glim ckpt show: what is in a checkpoint.
#include <memory>

#include <fmt/format.h>

#include "cli/checkpoints/checkpoint_view.h"
#include "cli/checkpoints/place.h"
#include "cli/commands/ckpt.h"
#include "cli/text/render_json.h"

namespace glim::cli {
namespace {

struct CkptShowOptions {
  std::string path;
  std::string pattern = "*";
};

Status RunCkptShow(CommandContext& context, const CkptShowOptions& options) {
  const auto place = FindPlace(options.path);
  if (!place.ok()) return place.status();
  const auto opened = OpenOne(*place);
  if (!opened.ok()) return opened.status();
  const std::string path = place->PathOf((*opened)->id());
  const checkpoint::Manifest& manifest = (*opened)->manifest();
  const std::vector<std::string> tensors = (*opened)->Matching(options.pattern);
  if (tensors.empty() && options.pattern != "*") {
    return Status(StatusCode::kNotFound, fmt::format("no tensor of {} matches '{}'", path, options.pattern))
        .WithField("--tensor")
        .WithFix("use a name, or a pattern such as 'layers.3.*'");
  }
  if (context.output.json()) {
    Json document = NewDocument();
    document["checkpoint"] = CheckpointJson(path, manifest, tensors);
    context.output.Data(DumpJson(document));
  } else {
    context.output.Data(CheckpointText(path, manifest, tensors, Now(), context.output.colour()));
  }
  return Status::Ok();
}

}  // namespace

void AddCkptShow(Syntax ckpt, Selection* selection) {
  const auto options = std::make_shared<CkptShowOptions>();
  Syntax command = ckpt.AddCommand("show", "Show what is in a checkpoint");
  command.Example("glim ckpt show /data/ckpt/812 --tensor '*.weight'");
  command.Option("PATH", &options->path, "DIR/attempt-N/step-S; of a DIR the newest that counts", Presence::kRequired);
  command.Option("--tensor", &options->pattern, "only names that match this pattern (*, ?, [...])");
  command.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunCkptShow(context, *options); }; });
}

}  // namespace glim::cli
