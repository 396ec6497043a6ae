#include "sdk/checkpoint/save/publisher.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "sdk/checkpoint/directory/shards_there.h"
#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/format/manifest_json.h"
#include "sdk/checkpoint/format/manifest_merge.h"
#include "sdk/checkpoint/io/micros_since.h"
#include "sdk/checkpoint/save/checksums.h"
#include "sdk/checkpoint/save/parts.h"
#include "sdk/io/io_error.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

// Another rank takes a checkpoint out of sight first and then removes its shards, which takes as long as the file
// system likes: so long a rank that finds nothing more to remove does not yet believe that the disk is full.
constexpr std::chrono::seconds kOthersRemove{5};
constexpr std::chrono::milliseconds kLook{20};

// Of the image, which is whole, into `manifest`, which describes it.
void TakeAllChecksums(SaveRequest& request, Manifest& manifest) {
  const auto begin = Clock::now();
  manifest.shards[0].header_crc32c = Crc32c(request.image.first(request.layout->header.size()));
  TakeChecksums(request.image, manifest.tensors);
  request.report.checksum_micros = MicrosSince(begin);
}

const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const Result<T>& result) {
  return result.status();
}

}  // namespace

Publisher::Publisher(const SaverOptions& options, std::unique_ptr<Directory> directory,
                     std::unique_ptr<FileWriter> writer, std::function<std::int64_t()> now_ms)
    : options_(options), directory_(std::move(directory)), writer_(std::move(writer)), now_ms_(std::move(now_ms)) {}

template <typename Once>
auto Publisher::WithRoom(CheckpointId id, Once once) {
  auto result = once();
  auto full_since = Clock::now();
  while (IsDiskFull(StatusOf(result))) {
    if (MakeRoom(id)) {
      full_since = Clock::now();
    } else if (options_.world == 1 || Clock::now() - full_since > kOthersRemove) {
      break;
    } else {
      std::this_thread::sleep_for(kLook);
    }
    result = once();
  }
  return result;
}

void Publisher::Register(std::span<const std::byte> memory) {
  writer_->Register(memory);
  if (options_.replica != nullptr) options_.replica->Register(memory);
}

void Publisher::Forget() {
  writer_->Forget();
  if (options_.replica != nullptr) options_.replica->Forget();
}

Result<SaveReport> Publisher::Save(SaveRequest request, const std::function<void(const SaveReport&)>& durable) {
  RemoveFailedBefore(request.report.step);
  bool replica_started = false;
  Result<SaveReport> report = SaveToDisk(request, replica_started);
  if (replica_started) {
    if (report.ok()) durable(*report);
    // Last of all: the disk's copy is durable by then, but the image is still being read.
    Result<ReplicaReport> replica = options_.replica->Wait();
    if (report.ok()) report->replica = std::move(replica);
  }
  request.progress->WaitForAll();  // a failed save may have ended before the copy
  return report;
}

Result<SaveReport> Publisher::SaveToDisk(SaveRequest& request, bool& replica_started) {
  const CheckpointId id{options_.attempt, request.report.step};
  oldest_ = Oldest();
  made_room_ = 0;
  const Result<int> opened = WithRoom(id, [&] { return directory_->OpenForWriting(id); });
  if (!opened.ok()) return opened.status();
  const UniqueFd folder(*opened);
  request.report.path = options_.path + "/" + PathOf(id);
  Result<Written> written = WriteShard(id, folder.get(), request, replica_started);
  const bool is_written = written.ok();
  Status status = written.ok() ? Status::Ok() : written.status();
  if (status.ok() && options_.rank == 0) {
    status = PublishForAll(id, folder.get(), std::move(*written));
  } else if (status.ok()) {
    status = WithRoom(id, [&] { return directory_->Publish(folder.get(), PartName(options_.rank), *written->text); });
  }
  if (!status.ok()) {
    // Of several ranks another one may still be at work there; and what failed late for another reason than a full disk
    // may have come through all the same.
    if (options_.world == 1 && (!is_written || IsDiskFull(status))) {
      static_cast<void>(directory_->RemoveUnfinished(id));
    } else if (options_.rank == 0) {
      failed_.push_back(id.step);
    }
    return status;
  }
  request.report.durable_micros = MicrosSince(request.asked);
  const CopyProgress::Times times = request.progress->WaitForAll();
  request.report.stall_micros = times.stall_micros;
  request.report.copy_micros = times.copy_micros;
  request.report.pruned = pruned_;
  request.report.made_room = made_room_;
  return request.report;
}

Result<Publisher::Written> Publisher::WriteShard(CheckpointId id, int folder, SaveRequest& request,
                                                 bool& replica_started) {
  Written result;
  Part& part = result.part;
  part.rank = options_.rank;
  part.manifest = {.attempt = id.attempt,
                   .step = id.step,
                   .world_size = options_.world,
                   .created_at_ms = now_ms_(),
                   .shards = {{NewShardName(folder, options_.rank, options_.world), request.image.size(), 0}},
                   .tensors = request.layout->entries,
                   .metadata = std::move(request.metadata)};
  const std::string name = part.manifest.shards[0].file;
  Result<IoReport> written = Status(StatusCode::kInternal, "not written");
  {
    // The processor's work beside the disk's: together they take as long as the longer one. Not beside the copy, too:
    // the trainer waits for that.
    const std::jthread beside([&] {
      request.progress->WaitForAll();
      TakeAllChecksums(request, part.manifest);
      replica_started = StartReplica(id, request.image, part);
      result.text = TextOf(part);
    });
    const auto begin = Clock::now();
    const std::optional<WriterTurn> turn = TakeTurn(folder);
    request.report.queued_micros = MicrosSince(begin);
    written = WithRoom(id, [&] {
      return writer_->WriteAsItComes(folder, name, request.image,
                                     [&](std::uint64_t bytes) { request.progress->WaitFor(bytes); });
    });
  }
  if (!written.ok()) return written.status();
  request.report.io = *written;
  return result;
}

bool Publisher::StartReplica(CheckpointId id, std::span<const std::byte> image, const Part& part) {
  if (options_.replica == nullptr) return false;
  options_.replica->Start(id, image, ToJson(part));
  return true;
}

Result<std::string> Publisher::TextOf(const Part& part) const {
  if (options_.rank != 0) return ToJson(part);
  if (options_.world > 1) return std::string();
  const Result<Manifest> manifest = Merge({part.manifest});
  if (!manifest.ok()) return manifest.status();
  return ToJson(*manifest);
}

std::optional<WriterTurn> Publisher::TakeTurn(int folder) const {
  if (options_.turns_folder.empty() || options_.writers_per_target == 0) return std::nullopt;
  const Result<std::string> target = TargetOf(folder);
  if (!target.ok()) return std::nullopt;
  Result<WriterTurn> turn = TargetLimit(options_.turns_folder, *target, options_.writers_per_target)
                                .Acquire(Clock::now() + std::chrono::milliseconds(options_.parts_timeout_ms));
  if (!turn.ok()) return std::nullopt;
  return std::move(*turn);
}

Status Publisher::PublishForAll(CheckpointId id, int folder, Written own) {
  const std::vector<Shard> own_shards = own.part.manifest.shards;
  const auto text = [&]() -> Result<std::string> {
    if (options_.world == 1) {
      if (Status status = CheckShardsAreThere(folder, own_shards); !status.ok()) return status;
      return std::move(own.text);
    }
    Result<std::vector<Manifest>> parts =
        WaitForParts(*directory_, folder, std::move(own.part.manifest), options_.parts_timeout_ms);
    if (!parts.ok()) return parts.status();
    const Result<Manifest> manifest = Merge(std::move(*parts));
    if (!manifest.ok()) return manifest.status();
    if (Status status = CheckShardsAreThere(folder, manifest->shards); !status.ok()) return status;
    return ToJson(*manifest);
  }();
  if (!text.ok()) {
    ::unlinkat(folder, own_shards[0].file.c_str(), 0);
    return text.status();
  }
  // From here on the shards stay whatever happens: a publication that failed late may have come through all the same.
  const Status status = WithRoom(id, [&] { return directory_->PublishManifest(id, folder, *text); });
  if (!status.ok()) return status;
  for (std::uint32_t rank = 1; rank < options_.world; ++rank) ::unlinkat(folder, PartName(rank).c_str(), 0);
  return Status::Ok();
}

void Publisher::Prune() {
  if (options_.rank != 0) return;
  const Result<std::vector<CheckpointId>> gone = directory_->Prune(options_.attempt, options_.keep, now_ms_());
  pruned_ = gone.ok() ? Status::Ok() : gone.status();
}

bool Publisher::MakeRoom(CheckpointId id) {
  const std::optional<CheckpointId> before = std::exchange(oldest_, Oldest());
  // Another rank that writes the same save may have made the room already.
  if (oldest_ != before) return true;
  const Result<bool> made = directory_->MakeRoom(id, options_.keep, now_ms_());
  oldest_ = Oldest();
  made_room_ += oldest_ != before;
  return made.ok() && *made;
}

std::optional<CheckpointId> Publisher::Oldest() const {
  const Result<std::vector<CheckpointId>> visible = directory_->Visible(options_.attempt);
  if (!visible.ok() || visible->empty()) return std::nullopt;
  return visible->front();
}

void Publisher::RemoveFailedBefore(std::uint64_t step) {
  // Not a retry's own folder: another rank may be at work there already.
  std::erase_if(failed_, [&](std::uint64_t failed) {
    if (failed != step) static_cast<void>(directory_->RemoveUnfinished({options_.attempt, failed}));
    return true;
  });
}

}  // namespace glim::checkpoint
