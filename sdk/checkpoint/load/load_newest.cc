#include "sdk/checkpoint/load/load_newest.h"

#include <string>
#include <utility>

namespace glim::checkpoint {
namespace {

using Ask = std::function<Result<std::vector<LoadRange>>(const Checkpoint&)>;

Status LoadFrom(const Result<std::unique_ptr<Checkpoint>>& opened, const Ask& ask) {
  if (!opened.ok()) return opened.status();
  const Result<std::vector<LoadRange>> ranges = ask(**opened);
  if (!ranges.ok()) return ranges.status();
  const Result<IoReport> report = (*opened)->Load(*ranges);
  return report.ok() ? Status::Ok() : report.status();
}

}  // namespace

Result<CheckpointId> LoadNewest(const Directory& directory, std::optional<std::uint32_t> attempt, ShardSource* replica,
                                const LoaderOptions& options, const Ask& ask,
                                const std::function<void(CheckpointId, const Status&)>& tried) {
  const Result<std::vector<CheckpointId>> visible = directory.Visible(attempt);
  if (!visible.ok()) return visible.status();
  if (visible->empty()) return Status(StatusCode::kNotFound, "there is no checkpoint yet");
  std::string reasons;
  for (auto id = visible->rbegin(); id != visible->rend(); ++id) {
    if (replica != nullptr) {
      const Status status = LoadFrom(OpenCheckpoint(*replica, *id), ask);
      if (status.ok()) return *id;
      tried(*id, status);
    }
    const Status status = LoadFrom(OpenCheckpoint(directory, *id, options), ask);
    if (status.ok()) return *id;
    tried(*id, status);
    if (status.code() != StatusCode::kDataLoss && status.code() != StatusCode::kNotFound) return status;
    if (reasons.size() < 1000) reasons += "; " + PathOf(*id) + ": " + status.message();
  }
  return Status(StatusCode::kDataLoss, "none of the checkpoints is good" + reasons).WithReason("NO_GOOD_CHECKPOINT");
}

}  // namespace glim::checkpoint
