
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "sdk/base/utf8.h"
#include "sdk/checkpoint/directory/file_directory.h"
#include "sdk/checkpoint/directory/files.h"
#include "sdk/checkpoint/directory/names.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/shared_folder.h"
#include "sdk/io/write_file.h"

namespace glim::checkpoint {
namespace {

Status Superseded(std::uint32_t attempt, std::uint32_t higher, const std::string& path) {
  return Status(StatusCode::kFailedPrecondition, "attempt " + std::to_string(attempt) + " in " + path +
                                                     " is over: attempt " + std::to_string(higher) + " has begun")
      .WithReason("SUPERSEDED")
      .WithFix("end this process");
}

Status InFile(const std::string& path, const Status& status) {
  std::string message = path + ": " + (status.field().empty() ? "" : status.field() + ": ") + status.message();
  return Status(status.code(), std::move(message)).WithReason(status.reason()).WithField(path).WithFix(status.fix());
}

// Durable, and readable by whom the folder is shared with.
Result<bool> CreateShared(int folder, const std::string& name, const std::string& text) {
  const Result<NewModes> modes = ModesIn(folder);
  if (!modes.ok()) return modes.status();
  return CreateFileIn(folder, name, text, {.mode = modes->file});
}
Status WriteShared(int folder, const std::string& name, const std::string& text) {
  const Result<NewModes> modes = ModesIn(folder);
  return modes.ok() ? WriteFileIn(folder, name, text, {.mode = modes->file}) : modes.status();
}

Status RefuseBadJobName(const std::string& job) {
  if (job.size() > kJobBytesMax) {
    return InvalidArgument("job", "is longer than " + std::to_string(kJobBytesMax) + " bytes");
  }
  if (IsUtf8(job) && !HasControl(job)) return Status::Ok();
  return InvalidArgument("job", "is not UTF-8 without control characters");
}

}  // namespace

Result<std::unique_ptr<Directory>> Directory::Open(const std::string& path, const std::string& job) {
  if (path.empty()) return InvalidArgument("path", "the checkpoint directory has no name", "set it");
  if (!job.empty()) {
    if (Status status = RefuseBadJobName(job); !status.ok()) return status;
  }
  const bool made = !job.empty() && ::mkdir(path.c_str(), 0700) == 0;
  if (!made && !job.empty() && errno != EEXIST) return IoError(errno, "create " + path).WithField(path);
  UniqueFd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root && errno == ENOTDIR) {
    return Status(StatusCode::kFailedPrecondition, path + " is a file, not a folder").WithField(path);
  }
  if (!root) return IoError(errno, "open " + path).WithField(path);
  if (made) {
    const UniqueFd parent(::openat(root.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent) return IoError(errno, "open the folder of " + path).WithField(path);
    if (Status status = ShareFolder(parent.get(), root.get()); !status.ok()) return status;
    if (Status status = FlushFolder(parent.get()); !status.ok()) return status;
  }
  auto directory = std::make_unique<FileDirectory>(std::move(root), path);
  if (!job.empty()) {
    if (Status status = directory->Claim(job); !status.ok()) return status;
  }
  return std::unique_ptr<Directory>(std::move(directory));
}

Status FileDirectory::Claim(const std::string& job) {
  auto text = ReadFile(root_.get(), kJobName, kRecordBytesMax);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
    const auto created = CreateShared(root_.get(), kJobName, JobText(job));
    if (!created.ok()) return created.status();
    text = ReadFile(root_.get(), kJobName, kRecordBytesMax);
  }
  if (!text.ok()) return text.status();
  const auto owner = ParseJob(*text);
  if (!owner.ok()) return InFile(path_ + "/" + kJobName, owner.status());
  if (*owner == job) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition,
                path_ + " holds the checkpoints of job \"" + *owner + "\"; this is job \"" + job + "\"")
      .WithReason("OTHER_JOB")
      .WithField(path_)
      .WithFix("give each job a directory of its own");
}

Result<std::vector<std::uint32_t>> FileDirectory::Attempts() const {
  const auto entries = ListFolder(root_.get());
  if (!entries.ok()) return entries.status();
  std::vector<std::uint32_t> attempts;
  for (const FolderEntry& entry : *entries) {
    const auto attempt = AttemptNamed(entry.name);
    if (attempt && entry.is_folder) attempts.push_back(*attempt);
  }
  if (entries->empty()) {  // a removed folder lists as an empty one
    struct stat status {};
    if (::fstat(root_.get(), &status) != 0) return IoError(errno, "look at " + path_).WithField(path_);
    if (status.st_nlink == 0) return IoError(ENOENT, "list " + path_).WithField(path_);
  }
  std::sort(attempts.rbegin(), attempts.rend());
  return attempts;
}

Result<std::optional<std::uint32_t>> FileDirectory::HighestBegun(std::optional<std::uint32_t> below) const {
  const auto attempts = Attempts();
  if (!attempts.ok()) return attempts.status();
  for (const std::uint32_t attempt : *attempts) {
    if (below && attempt >= *below) continue;
    const auto folder = OpenFolder(root_.get(), AttemptName(attempt));
    if (!folder.ok()) {
      if (folder.status().code() == StatusCode::kNotFound) continue;  // pruned meanwhile
      return folder.status();
    }
    const auto size = SizeOfFile(folder->get(), kBaseName);
    if (!size.ok()) return size.status();
    if (*size >= 0) return std::optional(attempt);
  }
  return std::optional<std::uint32_t>();
}

Status FileDirectory::RefuseIfSuperseded(std::uint32_t attempt) const {
  const auto highest = HighestBegun();
  if (!highest.ok()) return highest.status();
  if (*highest && **highest > attempt) return Superseded(attempt, **highest, path_);
  return Status::Ok();
}

Result<BaseRecord> FileDirectory::ReadBase(std::uint32_t attempt) const {
  const std::string name = AttemptName(attempt);
  const auto folder = OpenFolder(root_.get(), name);
  if (!folder.ok()) return folder.status();
  const auto text = ReadFile(folder->get(), kBaseName, kRecordBytesMax);
  if (!text.ok()) return text.status();
  auto record = ParseBase(*text, attempt);
  if (!record.ok()) return InFile(path_ + "/" + name + "/" + kBaseName, record.status());
  return record;
}

Status FileDirectory::RefuseAsBase(std::uint32_t attempt, CheckpointId base, bool has_to_be_here) const {
  if (base.attempt >= attempt) {
    return InvalidArgument("base", PathOf(base) + " is not of an attempt below " + std::to_string(attempt));
  }
  if (!has_to_be_here) return Status::Ok();
  const auto published = IsPublished(base);
  if (!published.ok()) return published.status();
  if (*published) return Status::Ok();
  return Status(StatusCode::kNotFound, path_ + "/" + PathOf(base) + " is no checkpoint").WithField("base");
}

Result<BaseRecord> FileDirectory::ChooseBase(std::uint32_t attempt, const std::optional<ToldBase>& told) const {
  BaseRecord record;
  if (told && !told->id) return record;
  if (told) {
    if (Status status = RefuseAsBase(attempt, *told->id, told->has_to_be_here); !status.ok()) return status;
    record.base = told->id;
  }
  const auto highest = HighestBegun(attempt);
  if (!highest.ok()) return highest.status();
  if (!*highest) return record;
  auto visible = Visible(**highest);
  if (!visible.ok()) return visible.status();
  std::vector<CheckpointId> before = std::move(visible).value();
  if (record.base) {
    before.erase(std::lower_bound(before.begin(), before.end(), *record.base), before.end());
  } else if (!before.empty()) {
    record.base = before.back();
    before.pop_back();
  }
  if (before.size() > kBeforeMax) before.erase(before.begin(), before.end() - kBeforeMax);
  record.before = std::move(before);
  return record;
}

Result<std::optional<CheckpointId>> FileDirectory::BeginAttempt(std::uint32_t attempt) { return Begin(attempt, {}); }

Result<std::optional<CheckpointId>> FileDirectory::BeginAttemptFrom(std::uint32_t attempt,
                                                                    std::optional<CheckpointId> base) {
  return Begin(attempt, ToldBase{.id = base});
}

Result<std::optional<CheckpointId>> FileDirectory::BeginAttemptFromElsewhere(std::uint32_t attempt, CheckpointId base) {
  return Begin(attempt, ToldBase{.id = base, .has_to_be_here = false});
}

Result<std::optional<CheckpointId>> FileDirectory::Begin(std::uint32_t attempt, const std::optional<ToldBase>& told) {
  auto begun = BeginOnce(attempt, told);
  while (!begun.ok() && IsDiskFull(begun.status())) {
    const auto made = MakeRoomToBegin(attempt, told);
    if (!made.ok() || !*made) break;  // the full disk is what is to be said
    begun = BeginOnce(attempt, told);
  }
  return begun;
}

Result<std::optional<CheckpointId>> FileDirectory::BeginOnce(std::uint32_t attempt,
                                                             const std::optional<ToldBase>& told) {
  if (Status status = RefuseIfSuperseded(attempt); !status.ok()) return status;
  const auto folder = MakeFolder(root_.get(), AttemptName(attempt));
  if (!folder.ok()) return folder.status();
  // From here on no older attempt begins to remove anything.
  auto record = ReadBase(attempt);
  if (!record.ok() && record.status().code() == StatusCode::kNotFound) {
    const auto chosen = ChooseBase(attempt, told);
    if (!chosen.ok()) return chosen.status();
    const auto created = CreateShared(folder->get(), kBaseName, BaseText(attempt, *chosen));
    if (!created.ok()) return created.status();
    record = ReadBase(attempt);
  }
  if (!record.ok()) return record.status();
  // Whoever published it may have died before these.
  if (Status status = FlushFolder(folder->get()); !status.ok()) return status;
  if (Status status = FlushFolder(root_.get()); !status.ok()) return status;
  // A zombie that was held up on the way here is told so.
  if (Status status = RefuseIfSuperseded(attempt); !status.ok()) return status;
  return record->base;
}

Result<bool> FileDirectory::IsPublished(int attempt_folder, std::uint64_t step) const {
  const auto folder = OpenFolder(attempt_folder, StepName(step));
  if (!folder.ok()) {
    if (folder.status().code() == StatusCode::kNotFound) return false;
    return folder.status();
  }
  const auto size = SizeOfFile(folder->get(), kManifestName);
  if (!size.ok()) return size.status();
  return *size >= 0;
}

Result<bool> FileDirectory::IsPublished(CheckpointId id) const {
  const auto folder = OpenFolder(root_.get(), AttemptName(id.attempt));
  if (folder.ok()) return IsPublished(folder->get(), id.step);
  if (folder.status().code() == StatusCode::kNotFound) return false;
  return folder.status();
}

Result<FileDirectory::Steps> FileDirectory::StepsOf(std::uint32_t attempt) const {
  Steps steps;
  const auto folder = OpenFolder(root_.get(), AttemptName(attempt));
  if (!folder.ok()) {
    if (folder.status().code() == StatusCode::kNotFound) return steps;
    return folder.status();
  }
  const auto entries = ListFolder(folder->get());
  if (!entries.ok()) return entries.status();
  for (const FolderEntry& entry : *entries) {
    const auto step = StepNamed(entry.name);
    if (!step || !entry.is_folder) continue;
    const auto published = IsPublished(folder->get(), *step);
    if (!published.ok()) return published.status();
    (*published ? steps.published : steps.unfinished).push_back(*step);
  }
  std::sort(steps.published.begin(), steps.published.end());
  std::sort(steps.unfinished.begin(), steps.unfinished.end());
  return steps;
}

Result<std::vector<CheckpointId>> FileDirectory::VisibleToReaders() const {
  const auto highest = HighestBegun();
  if (!highest.ok()) return highest.status();
  if (!*highest) return std::vector<CheckpointId>();
  auto visible = Visible(**highest);
  if (visible.ok() || visible.status().code() != StatusCode::kNotFound) return visible;
  // A higher attempt may have begun, and removed this one, while we looked.
  const auto now = HighestBegun();
  if (!now.ok() || !*now || **now == **highest) return visible.status();
  return VisibleToReaders();
}

Result<std::vector<CheckpointId>> FileDirectory::Visible(std::optional<std::uint32_t> attempt) const {
  if (!attempt) return VisibleToReaders();
  const auto record = ReadBase(*attempt);
  if (!record.ok()) return record.status();
  std::vector<CheckpointId> older = record->before;
  if (record->base) older.push_back(*record->base);
  std::vector<CheckpointId> visible;
  for (const CheckpointId id : older) {
    const auto published = IsPublished(id);
    if (!published.ok()) return published.status();
    if (*published) visible.push_back(id);
  }
  const auto steps = StepsOf(*attempt);
  if (!steps.ok()) return steps.status();
  for (const std::uint64_t step : steps->published) visible.push_back({*attempt, step});
  return visible;
}

Result<std::vector<CheckpointId>> FileDirectory::All() const {
  const auto attempts = Attempts();
  if (!attempts.ok()) return attempts.status();
  std::vector<CheckpointId> all;
  for (auto attempt = attempts->rbegin(); attempt != attempts->rend(); ++attempt) {
    const auto steps = StepsOf(*attempt);
    if (!steps.ok()) return steps.status();
    for (const std::uint64_t step : steps->published) all.push_back({*attempt, step});
  }
  return all;
}

Result<int> FileDirectory::OpenForWriting(CheckpointId id) {
  if (Status status = RefuseIfSuperseded(id.attempt); !status.ok()) return status;
  const auto record = ReadBase(id.attempt);
  if (!record.ok() && record.status().code() == StatusCode::kNotFound) {
    return Status(StatusCode::kFailedPrecondition,
                  "attempt " + std::to_string(id.attempt) + " in " + path_ + " has not begun: it has no " + kBaseName)
        .WithReason("NOT_BEGUN")
        .WithFix("call BeginAttempt first");
  }
  if (!record.ok()) return record.status();
  const auto attempt = OpenFolder(root_.get(), AttemptName(id.attempt));
  if (!attempt.ok()) return attempt.status();
  auto folder = MakeFolder(attempt->get(), StepName(id.step));
  if (!folder.ok()) return folder.status();
  const auto size = SizeOfFile(folder->get(), kManifestName);
  if (!size.ok()) return size.status();
  if (*size < 0) return std::move(folder).value().Release();
  return Status(StatusCode::kAlreadyExists,
                path_ + "/" + PathOf(id) + " is a checkpoint already, and those never change")
      .WithField(path_ + "/" + PathOf(id))
      .WithFix("save another step, or begin another attempt");
}

Result<int> FileDirectory::OpenForReading(CheckpointId id) const {
  const auto attempt = OpenFolder(root_.get(), AttemptName(id.attempt));
  if (!attempt.ok()) return attempt.status();
  auto folder = OpenFolder(attempt->get(), StepName(id.step));
  if (!folder.ok()) return folder.status();
  return std::move(folder).value().Release();
}

Status FileDirectory::Publish(int folder, const std::string& name, const std::string& text) {
  return WriteShared(folder, name, text);
}

Status FileDirectory::PublishManifest(CheckpointId id, int folder, const std::string& json) {
  if (Status status = RefuseIfSuperseded(id.attempt); !status.ok()) return status;
  const auto attempt = OpenFolder(root_.get(), AttemptName(id.attempt));
  if (!attempt.ok()) return attempt.status();
  if (Status status = WriteShared(folder, kManifestName, json); !status.ok()) return status;
  if (Status status = FlushFolder(attempt->get()); !status.ok()) return status;
  if (Status status = FlushFolder(root_.get()); !status.ok()) return status;
  if (Status status = RefuseIfSuperseded(id.attempt); !status.ok()) return status;
  static_cast<void>(ReplaceLink(root_.get(), kHintName, PathOf(id)));
  return Status::Ok();
}

Result<std::string> FileDirectory::ReadText(int folder, const std::string& name, std::size_t max) const {
  return ReadFile(folder, name, max);
}

}  // namespace glim::checkpoint
