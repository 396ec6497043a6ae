// The Directory on a real file system. See directory.h; private to its folder.
//
// Sources: file_directory.cc (with Directory::Open), file_directory_prune.cc (removing what is not kept)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/directory/records.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {

class FileDirectory final : public Directory {
 public:
  FileDirectory(UniqueFd root, std::string path) : root_(std::move(root)), path_(std::move(path)) {}

  // Writes job.json or compares it.
  Status Claim(const std::string& job);

  Result<std::optional<CheckpointId>> BeginAttempt(std::uint32_t attempt) override;
  Result<std::optional<CheckpointId>> BeginAttemptFrom(std::uint32_t attempt,
                                                       std::optional<CheckpointId> base) override;
  Result<std::optional<CheckpointId>> BeginAttemptFromElsewhere(std::uint32_t attempt, CheckpointId base) override;
  Result<std::vector<CheckpointId>> Visible(std::optional<std::uint32_t> attempt) const override;
  Result<std::vector<CheckpointId>> All() const override;
  Result<int> OpenForWriting(CheckpointId id) override;
  Result<int> OpenForReading(CheckpointId id) const override;
  Status Publish(int folder, const std::string& name, const std::string& text) override;
  Status PublishManifest(CheckpointId id, int folder, const std::string& json) override;
  Result<std::string> ReadText(int folder, const std::string& name, std::size_t max) const override;
  Result<std::vector<CheckpointId>> Prune(std::uint32_t attempt, const KeepRule& rule, std::int64_t now_ms) override;
  Result<bool> MakeRoom(CheckpointId writing, const KeepRule& rule, std::int64_t now_ms) override;
  Status RemoveUnfinished(CheckpointId id) override;

 private:
  // What a look into a checkpoint's folder said. `fault` is empty when it is good.
  struct Inspection {
    std::string fault;
    std::optional<std::int64_t> created_at_ms;
  };
  struct Steps {
    std::vector<std::uint64_t> published;   // ascending
    std::vector<std::uint64_t> unfinished;  // ascending
  };
  // What may go, and what has gone.
  struct Stale {
    std::vector<CheckpointId> published;
    std::vector<CheckpointId> unfinished;
    std::vector<std::uint32_t> attempts;  // whose folders go if nothing is in them any more
    Status first_error;                   // of looking for it
  };
  struct Removed {
    std::vector<CheckpointId> checkpoints;
    bool files = false;  // of unfinished ones: there is more room than before
    Status first_error;
    bool any() const { return !checkpoints.empty() || files; }
  };

  // Numbers of the attempt folders, highest first.
  Result<std::vector<std::uint32_t>> Attempts() const;
  // Of those that have a base.json and are below `below`, if it is given.
  Result<std::optional<std::uint32_t>> HighestBegun(std::optional<std::uint32_t> below = {}) const;
  Status RefuseIfSuperseded(std::uint32_t attempt) const;
  // NOT_FOUND when the attempt has not begun.
  Result<BaseRecord> ReadBase(std::uint32_t attempt) const;
  Result<std::vector<CheckpointId>> VisibleToReaders() const;
  struct ToldBase {
    std::optional<CheckpointId> id;
    bool has_to_be_here = true;
  };
  // `told`: by whoever says what the attempt goes on from, if anybody does.
  Result<std::optional<CheckpointId>> Begin(std::uint32_t attempt, const std::optional<ToldBase>& told);
  Result<std::optional<CheckpointId>> BeginOnce(std::uint32_t attempt, const std::optional<ToldBase>& told);
  Result<bool> MakeRoomToBegin(std::uint32_t attempt, const std::optional<ToldBase>& told);
  Result<BaseRecord> ChooseBase(std::uint32_t attempt, const std::optional<ToldBase>& told) const;
  Status RefuseAsBase(std::uint32_t attempt, CheckpointId base, bool has_to_be_here) const;
  Result<bool> IsPublished(CheckpointId id) const;
  Result<bool> IsPublished(int attempt_folder, std::uint64_t step) const;
  Result<Steps> StepsOf(std::uint32_t attempt) const;

  std::vector<CheckpointId> Kept(const std::vector<CheckpointId>& visible, const KeepRule& rule, std::int64_t now_ms);
  Status RefuseUnlessOneIsGood(const std::vector<CheckpointId>& kept);
  // Everything of `attempt` and those before it but `kept`, what `visible` did not have yet, and what may still become
  // a checkpoint. Both lists in their own order: `kept` newest first.
  Result<Stale> StaleBut(const std::vector<CheckpointId>& kept, const std::vector<CheckpointId>& visible,
                         std::uint32_t attempt) const;
  Removed Remove(Stale stale);
  // `stale`, or if there is nothing of it, the oldest of `visible`.
  Result<bool> RemoveOrOldest(Stale stale, const std::vector<CheckpointId>& visible, std::uint32_t attempt);
  Status RefuseIfHigherIsThere(std::uint32_t attempt) const;
  Inspection LookAt(CheckpointId id) const;
  Inspection Inspect(CheckpointId id);  // remembers the good ones
  Status RemoveManifest(CheckpointId id);
  Status RemoveStep(CheckpointId id);
  bool HoldsBytes(CheckpointId id) const;
  Status RemoveEmptyAttempt(std::uint32_t attempt);
  Status RemoveLeftovers();  // of processes that were killed here

  UniqueFd root_;
  std::string path_;                           // for messages
  std::map<CheckpointId, std::int64_t> good_;  // created_at_ms of those that Inspect found good; they do not change
};

}  // namespace glim::checkpoint
