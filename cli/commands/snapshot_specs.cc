#include "cli/commands/snapshot_specs.h"

#include <algorithm>

#include "cli/snapshot/take_snapshots.h"

namespace glim::cli {

Status AddSnapshots(CommandContext& context, bool write, std::vector<glim::v1::JobSpec>* specs) {
  if (std::none_of(specs->begin(), specs->end(), [](const auto& spec) { return spec.has_snapshot(); })) {
    return Status::Ok();
  }
  const Result<glim::v1::GetVersionResponse> server =
      context.client.Call(&glim::v1::ClientApi::Stub::GetVersion, glim::v1::GetVersionRequest());
  if (!server.ok()) return server.status();
  return TakeSnapshots(
      {server->checkpoint_root(), server->checkpoint_marker()}, write,
      [&context](const std::string& line) { context.output.Note(line); }, specs);
}

}  // namespace glim::cli
