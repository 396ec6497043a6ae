// What goes, and in which order: see directory.h.
#include <algorithm>
#include <utility>

#include "sdk/checkpoint/directory/file_directory.h"
#include "sdk/checkpoint/directory/files.h"
#include "sdk/checkpoint/directory/names.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/format/manifest_json.h"
#include "sdk/io/folders.h"
#include "sdk/io/write_file.h"

namespace glim::checkpoint {
namespace {

// What is not there is removed already.
void KeepFirst(Status& first, Status status) {
  if (first.ok() && !status.ok() && status.code() != StatusCode::kNotFound) first = std::move(status);
}

}  // namespace

FileDirectory::Inspection FileDirectory::LookAt(CheckpointId id) const {
  const auto opened = OpenForReading(id);
  if (!opened.ok()) return {opened.status().message(), {}};
  const UniqueFd folder(*opened);
  const auto text = ReadFile(folder.get(), kManifestName, kManifestBytesMax);
  if (!text.ok()) return {text.status().message(), {}};
  const auto manifest = ParseManifest(*text);
  if (!manifest.ok()) return {manifest.status().field() + " " + manifest.status().message(), {}};
  for (const Shard& shard : manifest->shards) {
    const auto size = SizeOfFile(folder.get(), shard.file);
    if (!size.ok()) return {size.status().message(), manifest->created_at_ms};
    if (*size == static_cast<std::int64_t>(shard.bytes)) continue;
    const std::string sizes = std::to_string(*size) + " of " + std::to_string(shard.bytes) + " bytes";
    const std::string fault = *size < 0 ? " is not there" : " has " + sizes;
    return {shard.file + fault, manifest->created_at_ms};
  }
  return {"", manifest->created_at_ms};
}

FileDirectory::Inspection FileDirectory::Inspect(CheckpointId id) {
  if (const auto known = good_.find(id); known != good_.end()) return {"", known->second};
  const Inspection inspection = LookAt(id);
  if (inspection.fault.empty()) good_[id] = *inspection.created_at_ms;
  return inspection;
}

std::vector<CheckpointId> FileDirectory::Kept(const std::vector<CheckpointId>& visible, const KeepRule& rule,
                                              std::int64_t now_ms) {
  std::vector<CheckpointId> kept;
  for (auto id = visible.rbegin(); id != visible.rend() && kept.size() < std::max(rule.newest, 1U); ++id) {
    if (rule.max_age_ms > 0 && !kept.empty()) {
      // (One whose age cannot be told may be young.)
      const auto created_at_ms = Inspect(*id).created_at_ms;
      if (created_at_ms && now_ms - *created_at_ms > rule.max_age_ms) continue;
    }
    kept.push_back(*id);
  }
  return kept;
}

Status FileDirectory::RefuseUnlessOneIsGood(const std::vector<CheckpointId>& kept) {
  std::string fault;
  for (const CheckpointId id : kept) {
    const Inspection inspection = Inspect(id);
    if (inspection.fault.empty()) return Status::Ok();
    if (fault.empty()) fault = inspection.fault;
  }
  if (kept.empty()) return Status::Ok();
  const std::string path = path_ + "/" + PathOf(kept.front());
  return Status(StatusCode::kDataLoss,
                "no checkpoint is removed, for none that would stay is good: " + path + ": " + fault)
      .WithReason("NONE_GOOD")
      .WithField(path)
      .WithFix("look at it with `glim ckpt verify`");
}

Status FileDirectory::RefuseIfHigherIsThere(std::uint32_t attempt) const {
  const auto attempts = Attempts();
  if (!attempts.ok()) return attempts.status();
  if (attempts->empty() || attempts->front() <= attempt) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, path_ + "/" + AttemptName(attempts->front()) + " is there: attempt " +
                                                     std::to_string(attempt) + " removes nothing any more")
      .WithReason("SUPERSEDED");
}

Status FileDirectory::RemoveManifest(CheckpointId id) {
  const auto opened = OpenForReading(id);
  if (!opened.ok()) return opened.status();
  const UniqueFd folder(*opened);
  if (Status status = RemoveFile(folder.get(), kManifestName); !status.ok()) return status;
  good_.erase(id);
  return FlushFolder(folder.get());
}

Status FileDirectory::RemoveStep(CheckpointId id) {
  const auto attempt = OpenFolder(root_.get(), AttemptName(id.attempt));
  if (!attempt.ok()) return attempt.status();
  return RemoveFolder(attempt->get(), StepName(id.step));
}

Status FileDirectory::RemoveEmptyAttempt(std::uint32_t attempt) {
  const std::string name = AttemptName(attempt);
  const auto folder = OpenFolder(root_.get(), name);
  if (!folder.ok()) return folder.status();
  const auto entries = ListFolder(folder->get());
  if (!entries.ok()) return entries.status();
  const auto ours = [](const FolderEntry& entry) {
    return !entry.is_folder && (entry.name == kBaseName || IsTemporary(entry.name));
  };
  if (!std::all_of(entries->begin(), entries->end(), ours)) return Status::Ok();
  return RemoveFolder(root_.get(), name);
}

Status FileDirectory::RemoveLeftovers() {
  const auto entries = ListFolder(root_.get());
  if (!entries.ok()) return entries.status();
  Status first_error;
  for (const FolderEntry& entry : *entries) {
    const bool ours =
        entry.name.starts_with(std::string(".") + kJobName) || entry.name.starts_with(std::string(".") + kHintName);
    if (ours && IsTemporary(entry.name)) KeepFirst(first_error, RemoveFile(root_.get(), entry.name));
  }
  return first_error;
}

Result<FileDirectory::Stale> FileDirectory::StaleBut(const std::vector<CheckpointId>& kept,
                                                     const std::vector<CheckpointId>& visible,
                                                     std::uint32_t attempt) const {
  const auto attempts = Attempts();
  if (!attempts.ok()) return attempts.status();
  Stale stale;
  for (const std::uint32_t number : *attempts) {
    if (number > attempt) continue;
    if (number < attempt) stale.attempts.push_back(number);
    const auto steps = StepsOf(number);
    if (!steps.ok()) {
      KeepFirst(stale.first_error, steps.status());
      continue;
    }
    for (const std::uint64_t step : steps->published) {
      const CheckpointId id{number, step};
      // What was published since we looked is newer than all that stays.
      const bool appeared = number == attempt && !std::binary_search(visible.begin(), visible.end(), id);
      if (!appeared && std::find(kept.begin(), kept.end(), id) == kept.end()) stale.published.push_back(id);
    }
    for (const std::uint64_t step : steps->unfinished) {
      const bool passed = !kept.empty() && kept.front().attempt == attempt && step < kept.front().step;
      if (number < attempt || passed) stale.unfinished.push_back({number, step});
    }
  }
  return stale;
}

bool FileDirectory::HoldsBytes(CheckpointId id) const {
  const auto opened = OpenForReading(id);
  if (!opened.ok()) return false;
  const UniqueFd folder(*opened);
  const auto entries = ListFolder(folder.get());
  return entries.ok() && std::any_of(entries->begin(), entries->end(), [&](const FolderEntry& entry) {
           const auto size = SizeOfFile(folder.get(), entry.name);
           return size.ok() && *size > 0;
         });
}

FileDirectory::Removed FileDirectory::Remove(Stale stale) {
  Removed removed{.checkpoints = {}, .files = false, .first_error = std::move(stale.first_error)};
  // Manifests first, so that a reader never finds half of one.
  std::sort(stale.published.begin(), stale.published.end());
  for (const CheckpointId id : stale.published) {
    const Status status = RemoveManifest(id);
    // (Another rank may have been faster.)
    if (status.ok() || status.code() == StatusCode::kNotFound) removed.checkpoints.push_back(id);
    KeepFirst(removed.first_error, status);
  }
  for (const CheckpointId id : removed.checkpoints) KeepFirst(removed.first_error, RemoveStep(id));
  for (const CheckpointId id : stale.unfinished) {
    const bool holds_bytes = HoldsBytes(id);
    const Status status = RemoveStep(id);
    if (holds_bytes && status.ok()) removed.files = true;
    KeepFirst(removed.first_error, status);
  }
  for (const std::uint32_t number : stale.attempts) KeepFirst(removed.first_error, RemoveEmptyAttempt(number));
  return removed;
}

Result<std::vector<CheckpointId>> FileDirectory::Prune(std::uint32_t attempt, const KeepRule& rule,
                                                       std::int64_t now_ms) {
  // 1. What stays.
  const auto visible = Visible(attempt);
  if (!visible.ok()) return visible.status();
  const std::vector<CheckpointId> kept = Kept(*visible, rule, now_ms);
  if (Status status = RefuseUnlessOneIsGood(kept); !status.ok()) return status;
  if (kept.empty()) return std::vector<CheckpointId>();

  // 2. What goes: everything else up to this attempt, but for its folders that may still become checkpoints.
  auto stale = StaleBut(kept, *visible, attempt);
  if (!stale.ok()) return stale.status();

  // 3. Only now: is anybody about to go on from one of these?
  if (Status status = RefuseIfHigherIsThere(attempt); !status.ok()) return status;

  Removed removed = Remove(std::move(*stale));
  KeepFirst(removed.first_error, RemoveLeftovers());
  if (!removed.first_error.ok()) return removed.first_error;
  return std::move(removed.checkpoints);
}

Result<bool> FileDirectory::RemoveOrOldest(Stale stale, const std::vector<CheckpointId>& visible,
                                           std::uint32_t attempt) {
  if (Status status = RefuseIfHigherIsThere(attempt); !status.ok()) return status;
  const Removed first = Remove(std::move(stale));
  if (first.any()) return true;
  if (visible.size() < 2) return first.first_error.ok() ? Result<bool>(false) : first.first_error;
  // The oldest goes only where a newer one is good: so no two who do this at once remove the last.
  const std::vector<CheckpointId> rest(visible.rbegin(), visible.rend() - 1);
  if (Status status = RefuseUnlessOneIsGood(rest); !status.ok()) return status;
  const Removed oldest = Remove({.published = {visible.front()}, .unfinished = {}, .attempts = {}, .first_error = {}});
  if (oldest.any()) return true;
  return oldest.first_error.ok() ? Result<bool>(false) : oldest.first_error;
}

Result<bool> FileDirectory::MakeRoom(CheckpointId writing, const KeepRule& rule, std::int64_t now_ms) {
  const auto visible = Visible(writing.attempt);
  if (!visible.ok()) return visible.status();
  const std::vector<CheckpointId> kept = Kept(*visible, rule, now_ms);
  if (Status status = RefuseUnlessOneIsGood(kept); !status.ok()) return status;
  auto stale = StaleBut(kept, *visible, writing.attempt);
  if (!stale.ok()) return stale.status();
  if (kept.empty()) stale->published.clear();  // what does not count may be all that there is
  std::erase(stale->unfinished, writing);
  return RemoveOrOldest(std::move(*stale), *visible, writing.attempt);
}

Result<bool> FileDirectory::MakeRoomToBegin(std::uint32_t attempt, const std::optional<ToldBase>& told) {
  const auto record = ChooseBase(attempt, told);
  if (!record.ok()) return record.status();
  std::vector<CheckpointId> visible = record->before;
  if (record->base) visible.push_back(*record->base);
  auto stale = StaleBut({}, visible, attempt);
  if (!stale.ok()) return stale.status();
  stale->published.clear();  // this attempt has no save of its own yet, which alone makes others needless
  stale->attempts.clear();
  return RemoveOrOldest(std::move(*stale), visible, attempt);
}

Status FileDirectory::RemoveUnfinished(CheckpointId id) {
  const auto published = IsPublished(id);
  if (!published.ok()) return published.status();
  return *published ? Status::Ok() : RemoveStep(id);
}

}  // namespace glim::checkpoint
