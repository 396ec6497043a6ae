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

Result<std::vector<CheckpointId>> FileDirectory::Prune(std::uint32_t attempt, const KeepRule& rule,
                                                       std::int64_t now_ms) {
  // 1. What stays.
  const auto visible = Visible(attempt);
  if (!visible.ok()) return visible.status();
  const std::vector<CheckpointId> kept = Kept(*visible, rule, now_ms);
  if (Status status = RefuseUnlessOneIsGood(kept); !status.ok()) return status;
  if (kept.empty()) return std::vector<CheckpointId>();

  // 2. What goes: everything else up to this attempt, but for its folders that may still become checkpoints.
  const auto attempts = Attempts();
  if (!attempts.ok()) return attempts.status();
  Status first_error;
  std::vector<CheckpointId> published;
  std::vector<CheckpointId> unfinished;
  for (const std::uint32_t number : *attempts) {
    if (number > attempt) continue;
    const auto steps = StepsOf(number);
    if (!steps.ok()) {
      KeepFirst(first_error, steps.status());
      continue;
    }
    const CheckpointId newest = kept.front();
    for (const std::uint64_t step : steps->published) {
      const CheckpointId id{number, step};
      // What was published since step 1 is newer than all that stays.
      const bool appeared = number == attempt && !std::binary_search(visible->begin(), visible->end(), id);
      if (!appeared && std::find(kept.begin(), kept.end(), id) == kept.end()) published.push_back(id);
    }
    for (const std::uint64_t step : steps->unfinished) {
      if (number < attempt || (newest.attempt == attempt && step < newest.step)) unfinished.push_back({number, step});
    }
  }

  // 3. Only now: is anybody about to go on from one of these?
  if (Status status = RefuseIfHigherIsThere(attempt); !status.ok()) return status;

  // 4. Manifests first, so that a reader never finds half of one.
  std::vector<CheckpointId> gone;
  std::sort(published.begin(), published.end());
  for (const CheckpointId id : published) {
    const Status status = RemoveManifest(id);
    if (status.ok()) gone.push_back(id);
    KeepFirst(first_error, status);
  }
  for (const CheckpointId id : gone) KeepFirst(first_error, RemoveStep(id));
  for (const CheckpointId id : unfinished) KeepFirst(first_error, RemoveStep(id));
  for (const std::uint32_t number : *attempts) {
    if (number < attempt) KeepFirst(first_error, RemoveEmptyAttempt(number));
  }
  KeepFirst(first_error, RemoveLeftovers());
  if (!first_error.ok()) return first_error;
  return gone;
}

}  // namespace glim::checkpoint
