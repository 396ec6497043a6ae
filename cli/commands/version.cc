// glim version: this program's version and the scheduler's.
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/text/render_json.h"
#include "cli/text/text.h"

namespace glim::cli {
namespace {

Status RunVersion(CommandContext& context) {
  Result<glim::v1::GetVersionResponse> server =
      context.client.Call(&glim::v1::ClientApi::Stub::GetVersion, glim::v1::GetVersionRequest());
  if (context.output.json()) {
    Json document = NewDocument();
    document["client"]["version"] = GLIM_VERSION;
    document["server"] = server.ok() ? MessageJson(*server) : Json(nullptr);
    context.output.Data(DumpJson(document));
  } else {
    context.output.Data("client " GLIM_VERSION "\n");
    if (server.ok()) {
      context.output.Data(fmt::format("server {} (protocol {}, cluster {}, at {})\n", Escaped(server->version()),
                                      server->protocol_version(), Escaped(server->cluster_id()),
                                      context.client.server()));
    }
  }
  return server.status();
}

}  // namespace

void AddVersion(Syntax app, Selection* selection) {
  Syntax command = app.AddCommand("version", "Show the versions of this program and of the scheduler");
  command.Example("glim version");
  command.OnChosen([=] { selection->run = RunVersion; });
}

}  // namespace glim::cli
