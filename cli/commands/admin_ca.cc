// glim admin ca rotate: another authority signs from now on; with --finish the old one counts no more.
#include <memory>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/text/render_json.h"

namespace glim::cli {
namespace {

struct RotateOptions {
  bool finish = false;
  bool force = false;
};

void SayRotated(const glim::v1::RotateCaResponse& response, bool finish, Output& output) {
  output.Data(response.ca_fingerprint() + "\n");
  if (finish) {
    output.Note("the old authority counts no more; users whose 'glim' does not know this one log in anew with it");
    return;
  }
  output.Note("nodes renew their certificates by themselves; 'glim admin ca rotate --finish' when all have");
  const int waiting = response.not_renewed_size();
  if (waiting == 0) return;
  const std::vector<std::string> nodes(response.not_renewed().begin(), response.not_renewed().end());
  output.Note(fmt::format("{} {} not renewed yet: {}", waiting, waiting == 1 ? "node has" : "nodes have",
                          fmt::format("{}", fmt::join(nodes, ", "))));
}

Status RunRotate(CommandContext& context, const RotateOptions& options) {
  glim::v1::RotateCaRequest request;
  request.set_finish(options.finish);
  request.set_force(options.force);
  const auto response = context.client.Call(&glim::v1::AdminApi::Stub::RotateCa, request);
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document.update(MessageJson(*response));
    document["finished"] = options.finish;
    context.output.Data(DumpJson(document));
  } else {
    SayRotated(*response, options.finish, context.output);
  }
  return Status::Ok();
}

}  // namespace

void AddAdminCa(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<RotateOptions>();
  Syntax ca = admin.AddGroup("ca", "The authority that signs the certificates of nodes and schedulers");
  Syntax rotate = ca.AddCommand("rotate", "Begin to change it for a new one, and print the new one's fingerprint");
  rotate.Example("glim admin ca rotate");
  rotate.Example("glim admin ca rotate --finish");
  rotate.Flag("--finish", &options->finish, "the old one counts no more");
  rotate.Flag("--force", &options->force,
              "with --finish: although nodes have not renewed; they are to be invited again");
  rotate.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunRotate(context, *options); }; });
}

}  // namespace glim::cli
