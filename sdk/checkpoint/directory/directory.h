// Where checkpoints lie, which of them count, and who may write: DIR/attempt-N/step-00000123/.
//
// The rule, which is the only authority (DIR/latest is a hint for people):
// - A checkpoint is a folder step-S with a file `manifest.json`; that name comes by rename, last of all.
// - Attempt N begins by publishing attempt-N/base.json, created exclusively: the one older checkpoint that it goes on
// - Readers take the highest attempt that has a base.json.
// - An attempt removes nothing once a folder of a higher attempt is there, begun or not. It looks after it has chosen
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/names.h"

namespace glim::checkpoint {

struct KeepRule {
  std::uint32_t newest = 3;     // at least 1
  std::int64_t max_age_ms = 0;  // of those beyond the newest one, by the manifest's created_at; 0: any age
};

// Holds DIR open. Everything beneath it is reached by plain names, one folder at a time, and no symbolic link is
// followed: no name leads out of it, on any kernel and any file system. One thread at a time for each object; any
// number of processes, which need of the file system what POSIX says of rename, link and mkdir (NFS has it).
//
// Errors name the path and what the system said: NOT_FOUND (DIR has vanished, too), PERMISSION_DENIED,
// RESOURCE_EXHAUSTED (disk, quota, open files), DATA_LOSS (an I/O error, or a file of ours that is not what we wrote),
// FAILED_PRECONDITION (a symbolic link or a file where a folder is due).
class Directory {
 public:
  // Creates DIR (its parent must exist) if `job` is not empty, and writes DIR/job.json (create-exclusive), or finds it:
  // FAILED_PRECONDITION, reason OTHER_JOB, when it is another job's (both names are said). Readers give an empty `job`.
  static Result<std::unique_ptr<Directory>> Open(const std::string& path, const std::string& job);
  virtual ~Directory() = default;

  // What attempt `attempt` goes on from; the first caller decides, every later one (another rank, a restart of the same
  // attempt) is told the same. On a full disk room is made as by MakeRoom; the base stays. FAILED_PRECONDITION, reason
  // SUPERSEDED, when a higher attempt has begun: this one is a zombie.
  virtual Result<std::optional<CheckpointId>> BeginAttempt(std::uint32_t attempt) = 0;
  // The same, where an authority over the directory (the scheduler, which alone knows what was reported to
  // it) says what the attempt goes on from: `base`, or nothing. Only the first caller's word counts here, too.
  // NOT_FOUND when `base` is no checkpoint, INVALID_ARGUMENT when it is not of a lower attempt. Unlike the newest one,
  // an older `base` may be what a Prune that is under way removes: let the rule of the attempt before keep more than
  // one.
  virtual Result<std::optional<CheckpointId>> BeginAttemptFrom(std::uint32_t attempt,
                                                               std::optional<CheckpointId> base) = 0;
  // The same with a base that has been read already from elsewhere (a neighbour's memory): it need not be in DIR any
  // more. Where it is not, it does not count, and those before it do.
  virtual Result<std::optional<CheckpointId>> BeginAttemptFromElsewhere(std::uint32_t attempt, CheckpointId base) = 0;

  // The ones that count, newest last: those before the base, the base, then this attempt's by step. Of the highest
  // begun attempt (empty if none has begun), or of `attempt` (NOT_FOUND if that has not begun).
  virtual Result<std::vector<CheckpointId>> Visible(std::optional<std::uint32_t> attempt = {}) const = 0;
  // Every folder with a manifest, whether it counts or not, by attempt and step.
  virtual Result<std::vector<CheckpointId>> All() const = 0;

  // The open folder of a checkpoint that is being written (made if it is not there) or read; the caller closes it.
  // Writing is refused as SUPERSEDED like the rest, as FAILED_PRECONDITION before BeginAttempt, and as ALREADY_EXISTS
  // when that step has been published: a checkpoint never changes.
  virtual Result<int> OpenForWriting(CheckpointId id) = 0;
  virtual Result<int> OpenForReading(CheckpointId id) const = 0;

  // Publishes text as `name` in `folder` whole: a temporary file beside, flushed, renamed, the folder flushed.
  virtual Status Publish(int folder, const std::string& name, const std::string& text) = 0;
  // The manifest's way: Publish as manifest.json, flush the folders above, renew the hint (whose failure is no
  // failure). SUPERSEDED when a higher attempt has begun meanwhile (what was published then is ignored by readers
  // anyway).
  virtual Status PublishManifest(CheckpointId id, int folder, const std::string& json) = 0;
  // At most `max` bytes of a file in `folder`. NOT_FOUND; DATA_LOSS if it is longer, or no plain file.
  virtual Result<std::string> ReadText(int folder, const std::string& name, std::size_t max) const = 0;

  // Removes what `rule` does not keep, manifests first: visible checkpoints beyond it, what else older attempts left,
  // and unfinished folders of this attempt older than its newest checkpoint. Nothing at all unless one of those that
  // stay is good: its manifest was read and every shard has the size stated there (else DATA_LOSS). SUPERSEDED when the
  // folder of a higher attempt is there. What cannot be removed stays, the rest goes, and the first error is returned
  // at the end. Returns the checkpoints that went.
  virtual Result<std::vector<CheckpointId>> Prune(std::uint32_t attempt, const KeepRule& rule, std::int64_t now_ms) = 0;

  // For a save that found the disk or the quota full: removes what Prune would remove but for the folder of `writing`,
  // and what older attempts left unfinished; if that is nothing, the oldest visible checkpoint, whatever `rule` says.
  // Never the last good one, by however many ranks this is called at once: what goes has a newer good one. Whether
  // anything went, so that another try is worth it. Errors are those of Prune.
  virtual Result<bool> MakeRoom(CheckpointId writing, const KeepRule& rule, std::int64_t now_ms) = 0;

  // Of a save that failed for good: its folder goes, unless it has a manifest.
  virtual Status RemoveUnfinished(CheckpointId id) = 0;
};

}  // namespace glim::checkpoint
