#include "sdk/checkpoint/save/saver.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "sdk/checkpoint/format/layout.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/format/manifest_check.h"
#include "sdk/checkpoint/io/micros_since.h"
#include "sdk/checkpoint/save/copier.h"
#include "sdk/checkpoint/save/copy_progress.h"
#include "sdk/checkpoint/save/device_copier.h"
#include "sdk/checkpoint/save/image_pool.h"
#include "sdk/checkpoint/save/layout_cache.h"
#include "sdk/checkpoint/save/pending_save.h"
#include "sdk/checkpoint/save/publisher.h"

namespace glim::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint32_t kImagesMax = 2;
constexpr std::uint32_t kCopyThreadsMax = 256;

std::uint64_t RoundedUp(std::uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

Status CheckOptions(const SaverOptions& options) {
  if (options.path.empty()) return InvalidArgument("path", "no directory is named");
  if (options.job.empty()) return InvalidArgument("job", "the job is not named", "give the name that its saves share");
  if (options.world == 0 || options.rank >= options.world) {
    return InvalidArgument("rank",
                           "rank " + std::to_string(options.rank) + " of " + std::to_string(options.world) + " is none",
                           "ranks are counted from 0");
  }
  if (options.when_busy == WhenBusy::kSkip && options.world > 1) {
    return InvalidArgument("when_busy", "with several ranks one that skips a save would let the others wait for it",
                           "use kWait, or agree on skipping before SaveAsync");
  }
  if (options.images < 1 || options.images > kImagesMax) return InvalidArgument("images", "must be 1 or 2");
  if (options.copy_threads < 1 || options.copy_threads > kCopyThreadsMax) {
    return InvalidArgument("copy_threads", "must be 1 to " + std::to_string(kCopyThreadsMax));
  }
  if (options.split_bytes == 0 || options.split_bytes % kChunkBytes != 0) {
    return InvalidArgument("split_bytes", "must be a multiple of " + std::to_string(kChunkBytes));
  }
  if (options.keep.newest < 1)
    return InvalidArgument("keep.newest", "at least the newest one is kept", "use 1 or more");
  return Status::Ok();
}

struct Job {
  SaveRequest request;
  std::uint32_t image = 0;
  std::function<void(const Result<SaveReport>&)> on_done;
  std::shared_ptr<PendingSave> handle;
};

// An image is the trainer's from the moment it takes it (busy_). The background thread reads it from the moment the job
// is queued, as far as its progress says that it is filled, and frees it. `publisher_` is the background thread's; the
// trainer touches it only while all images are free and nothing is reserved.
class BackgroundSaver final : public Saver {
 public:
  BackgroundSaver(const SaverOptions& options, std::optional<CheckpointId> base, std::unique_ptr<Publisher> publisher)
      : options_(options),
        base_(base),
        publisher_(std::move(publisher)),
        layouts_(options.rank, options.world, options.split_bytes),
        pool_(options.images),
        device_copier_(options.device_runtime, options.compute_stream),
        busy_(options.images),
        reserving_(options.reserve_bytes > 0),
        thread_([this] { Work(); }) {}

  ~BackgroundSaver() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
    publisher_->Forget();
  }

  const std::optional<CheckpointId>& base() const override { return base_; }

  void Drain() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !working_ && !reserving_; });
  }

  Result<std::shared_ptr<SaveHandle>> SaveAsync(std::uint64_t step, std::span<const SaveTensor> tensors,
                                                const std::map<std::string, std::string>& metadata,
                                                std::function<void(const Result<SaveReport>&)> on_done) override {
    const auto begin = Clock::now();
    if (Status status = CheckMetadata(metadata); !status.ok()) return status;
    const Result<std::shared_ptr<const ShardLayout>> found = layouts_.For(tensors);
    if (!found.ok()) return found.status();
    const std::shared_ptr<const ShardLayout>& layout = *found;
    const std::optional<std::uint32_t> image = TakeImage(layout->file_bytes);
    if (!image) return std::shared_ptr<SaveHandle>();
    if (Status status = MakeRoom(layout->file_bytes); !status.ok()) {
      FreeImage(*image);
      return status;
    }
    const std::span<std::byte> place = pool_.image(*image);
    const auto copy_begin = Clock::now();
    if (Status status = device_copier_.Copy(pool_.memory(), place, tensors, layout->copies); !status.ok()) {
      FreeImage(*image);
      return status;
    }
    std::memcpy(place.data(), layout->header.data(), layout->header.size());
    // The last block is written whole; what an earlier save left there is nobody's business.
    std::memset(place.data() + layout->file_bytes, 0, RoundedUp(layout->file_bytes) - layout->file_bytes);
    const auto progress = std::make_shared<CopyProgress>();
    const auto handle = std::make_shared<PendingSave>();
    Job job{.request = {.image = place.first(layout->file_bytes),
                        .layout = layout,
                        .progress = progress,
                        .metadata = metadata,
                        .asked = begin,
                        .report = {}},
            .image = *image,
            .on_done = std::move(on_done),
            .handle = handle};
    job.request.report.step = step;
    job.request.report.bytes = layout->file_bytes;
    Enqueue(std::move(job));
    // The background writes what is there already while the rest is copied.
    CopyRanges(place, tensors, layout->copies, options_.copy_threads,
               [&](std::uint64_t end) { progress->Advance(end); });
    progress->Finish({.stall_micros = MicrosSince(begin), .copy_micros = MicrosSince(copy_begin)});
    return std::shared_ptr<SaveHandle>(handle);
  }

 private:
  // None when it is to be skipped. If the memory must grow first, all images are waited for.
  std::optional<std::uint32_t> TakeImage(std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !reserving_; });
    const auto can_go = [&] {
      const auto busy = std::count(busy_.begin(), busy_.end(), true);
      return pool_.Fits(RoundedUp(bytes)) ? busy < static_cast<std::ptrdiff_t>(busy_.size()) : busy == 0;
    };
    if (options_.when_busy == WhenBusy::kSkip && !can_go()) return std::nullopt;
    changed_.wait(lock, can_go);
    const auto free = std::find(busy_.begin(), busy_.end(), false);
    *free = true;
    return static_cast<std::uint32_t>(free - busy_.begin());
  }

  void FreeImage(std::uint32_t image) {
    {
      const std::lock_guard lock(mutex_);
      busy_[image] = false;
    }
    changed_.notify_all();
  }

  Status MakeRoom(std::uint64_t bytes) {
    if (pool_.Fits(RoundedUp(bytes))) return Status::Ok();
    publisher_->Forget();
    device_copier_.Forget();
    registered_ = false;
    return pool_.Grow(RoundedUp(bytes));
  }

  void Enqueue(Job job) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(job));
    }
    changed_.notify_all();
  }

  void Work() {
    if (options_.reserve_bytes > 0) Reserve();
    for (;;) {
      std::unique_lock lock(mutex_);
      working_ = false;
      changed_.notify_all();
      changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      working_ = true;
      Job job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      if (!std::exchange(registered_, true)) publisher_->Register(pool_.memory());
      const Result<SaveReport> report = publisher_->Save(
          std::move(job.request), [&job](const SaveReport& durable) { job.handle->BecomeDurable(durable); });
      FreeImage(job.image);
      if (job.on_done) job.on_done(report);
      job.handle->End(report);
      if (report.ok()) publisher_->Prune();
    }
  }

  void Reserve() {
    // Where there is no such memory the first save says so.
    if (pool_.Grow(RoundedUp(options_.reserve_bytes)).ok()) {
      pool_.Prefault();
      publisher_->Register(pool_.memory());
      registered_ = true;
    }
    {
      const std::lock_guard lock(mutex_);
      reserving_ = false;
    }
    changed_.notify_all();
  }

  const SaverOptions options_;
  const std::optional<CheckpointId> base_;
  const std::unique_ptr<Publisher> publisher_;
  LayoutCache layouts_;  // the trainer's
  ImagePool pool_;
  DeviceCopier device_copier_;  // the trainer's
  bool registered_ = false;     // the pool's memory is known to the writer

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> busy_;  // images
  std::deque<Job> queue_;   // at most one for each image
  bool reserving_ = false;
  bool working_ = false;  // on a job, or on what comes after it
  bool closing_ = false;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace

Result<std::unique_ptr<Saver>> Saver::Create(const SaverOptions& options, std::function<std::int64_t()> now_ms) {
  if (Status status = CheckOptions(options); !status.ok()) return status;
  Result<std::unique_ptr<Directory>> directory = Directory::Open(options.path, options.job);
  if (!directory.ok()) return directory.status();
  const Result<std::optional<CheckpointId>> base =
      options.base_is_told ? (*directory)->BeginAttemptFrom(options.attempt, options.told_base)
                           : (*directory)->BeginAttempt(options.attempt);
  if (!base.ok()) return base.status();
  Result<std::unique_ptr<FileWriter>> writer = MakeFileWriter(options.io, options.path);
  if (!writer.ok()) return writer.status();
  auto publisher = std::make_unique<Publisher>(options, std::move(*directory), std::move(*writer), std::move(now_ms));
  return std::unique_ptr<Saver>(std::make_unique<BackgroundSaver>(options, *base, std::move(publisher)));
}

}  // namespace glim::checkpoint
