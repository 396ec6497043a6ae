#include "sdk/checkpoint/io/range_reader.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

#include "sdk/checkpoint/io/make_channel.h"
#include "sdk/checkpoint/io/read_file.h"
#include "sdk/checkpoint/io/read_plan.h"
#include "sdk/checkpoint/io/retry.h"
#include "sdk/io/io_error.h"

namespace glim::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

// Where reads go that cannot go straight: `count` places of `bytes` each, page-aligned. Owns them; made at the first
// use.
class BounceMemory {
 public:
  BounceMemory(std::uint32_t count, std::uint64_t bytes) : bytes_(bytes), all_(count * bytes) {}
  BounceMemory(const BounceMemory&) = delete;
  ~BounceMemory() {
    if (base_ != nullptr) ::munmap(base_, all_);
  }

  // False: there is no memory.
  bool Prepare(Channel& channel) {
    if (base_ != nullptr) return true;
    void* memory = ::mmap(nullptr, all_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    ::madvise(memory, all_, MADV_HUGEPAGE);  // a wish: 16 MiB in small pages cost 7 ms before the first byte is read
    base_ = static_cast<std::byte*>(memory);
    channel.Register({base_, all_});
    return true;
  }
  std::byte* Place(std::uint64_t index) const { return base_ + index * bytes_; }
  std::span<const std::byte> all() const { return {base_, base_ == nullptr ? 0 : all_}; }

 private:
  const std::uint64_t bytes_;
  const std::uint64_t all_;
  std::byte* base_ = nullptr;
};

// One call of Read.
class Reading {
 public:
  Reading(Channel& channel, BounceMemory& bounce, const IoOptions& options, int folder,
          const std::vector<std::string>& files, std::span<const ReadRange> ranges,
          const std::function<Status(std::size_t)>& done)
      : channel_(channel),
        bounce_(bounce),
        options_(options),
        folder_(folder),
        files_(files),
        ranges_(ranges),
        done_(done),
        flights_(options.depth) {
    for (std::uint32_t i = options.depth; i > 0; --i) free_.push_back(i - 1);
  }

  Result<IoReport> Run() {
    const Clock::time_point start = Clock::now();
    if (const Status status = Order(); !status.ok()) return status;
    Status status;
    while (true) {
      while (status.ok() && !free_.empty()) {
        const Result<bool> more = SubmitNext();
        if (!more.ok()) status = more.status();
        if (!more.ok() || !*more) break;
      }
      // After a failure too: the memory is the channel's until everything has come.
      if (free_.size() == flights_.size()) break;
      const IoCompletion completion = channel_.Wait();
      Status outcome = Take(static_cast<std::uint32_t>(completion.tag), completion.result, status.ok());
      if (status.ok()) status = std::move(outcome);
    }
    if (!status.ok()) return status;
    report_.kind = channel_.kind();
    report_.micros = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
    return report_;
  }

 private:
  struct Flight {
    std::shared_ptr<const ReadFile> file;
    std::shared_ptr<const ReadPlan> plan;
    PlannedRead read;
    IoRequest io;  // what is left of it
    bool direct = false;
    Retries retries;
  };

  // By file and offset. Checks what the caller gave.
  Status Order() {
    order_.resize(ranges_.size());
    left_.resize(ranges_.size());
    std::iota(order_.begin(), order_.end(), 0);
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const ReadRange& range = ranges_[i];
      left_[i] = range.into.size();
      if (range.file >= files_.size() || range.offset + range.into.size() < range.offset) {
        return InvalidArgument("ranges[" + std::to_string(i) + "]", "a range outside of the files given");
      }
    }
    const auto before = [this](std::uint32_t a, std::uint32_t b) {
      return std::pair(ranges_[a].file, ranges_[a].offset) < std::pair(ranges_[b].file, ranges_[b].offset);
    };
    if (!std::is_sorted(order_.begin(), order_.end(), before)) std::stable_sort(order_.begin(), order_.end(), before);
    return Status::Ok();
  }

  // Plans the next file that has ranges; false: there is none.
  Result<bool> OpenNext() {
    if (next_range_ == order_.size()) return false;
    const std::size_t first = next_range_;
    const std::uint32_t index = ranges_[order_[first]].file;
    std::uint64_t end = 0;
    while (next_range_ < order_.size() && ranges_[order_[next_range_]].file == index) {
      const ReadRange& range = ranges_[order_[next_range_++]];
      end = std::max(end, range.offset + range.into.size());
    }
    Result<std::unique_ptr<ReadFile>> opened = ReadFile::Open(channel_, folder_, files_[index], options_.direct);
    if (!opened.ok()) return opened.status();
    file_ = std::move(opened).value();
    if (end > file_->bytes()) return TooShort(*file_, file_->bytes(), end);
    const ReadPlanOptions options{
        .block_bytes = options_.block_bytes,
        .direct = file_->has_direct(),
        .memory_alignment = file_->memory_alignment(),
        .cached = [this](std::uint64_t offset, std::uint64_t bytes) { return file_->Cached(offset, bytes); }};
    const std::span<const std::uint32_t> order(order_.data() + first, next_range_ - first);
    plan_ = std::make_shared<ReadPlan>(PlanReads(ranges_, order, options));
    next_read_ = 0;
    for (const std::uint32_t i : order) {
      if (!ranges_[i].into.empty()) continue;
      if (Status status = done_(i); !status.ok()) return status;
    }
    return true;
  }

  // False: everything is on its way.
  Result<bool> SubmitNext() {
    while (!plan_ || next_read_ == plan_->reads.size()) {
      const Result<bool> opened = OpenNext();
      if (!opened.ok() || !*opened) return opened;
    }
    const PlannedRead& read = plan_->reads[next_read_++];
    if (!read.straight && !bounce_.Prepare(channel_)) return IoError(ENOMEM, "read " + file_->name());
    const std::uint32_t index = free_.back();
    free_.pop_back();
    std::byte* memory = read.straight ? plan_->pieces[read.first_piece].into : bounce_.Place(index);
    Flight& flight = flights_[index];
    flight = {file_, plan_, read, {}, read.direct, {}};
    flight.io = {file_->fd(read.direct), read.begin, memory, read.end - read.begin, index, !read.direct};
    report_.direct |= read.direct;
    report_.registered |= channel_.IsRegistered({memory, flight.io.bytes});
    channel_.Submit(flight.io);
    return true;
  }

  // A completion. `go_on`: nothing has failed; otherwise it only comes home.
  Status Take(std::uint32_t index, std::int64_t result, bool go_on) {
    Flight& flight = flights_[index];
    Result<bool> whole = go_on ? Advance(flight, result) : Result<bool>(true);
    if (whole.ok() && !*whole) {
      channel_.Submit(flight.io);
      return Status::Ok();
    }
    Status status = whole.status();
    if (go_on && status.ok()) status = Deliver(flight, index);
    flight.file.reset();
    flight.plan.reset();
    free_.push_back(index);
    return status;
  }

  // Takes a request on; whether it is whole. If not, it is to be submitted again.
  Result<bool> Advance(Flight& flight, std::int64_t result) {
    IoRequest& io = flight.io;
    if (result == -EINVAL && flight.direct) {  // it could be opened so, and yet is not there
      flight.direct = false;
      io.fd = flight.file->fd(false);
      return false;
    }
    if (result < 0) {
      const int error = static_cast<int>(-result);
      if (flight.retries.MayRetry(error)) return false;
      return IoError(error, "read " + flight.file->name() + " at " + std::to_string(io.offset));
    }
    auto moved = static_cast<std::uint64_t>(result);
    const std::uint64_t come = io.offset + moved;
    if (come >= flight.read.wanted_end) return true;
    // O_DIRECT goes on at a whole page; a part of one is the end of the file.
    if (flight.direct) moved = PagesDown(moved);
    if (moved == 0) return TooShort(*flight.file, come, flight.read.wanted_end);
    flight.retries = Retries();
    io.offset += moved;
    io.memory += moved;
    io.bytes -= moved;
    return false;
  }

  // Puts what was read beside into its places, and tells of ranges that are whole.
  Status Deliver(const Flight& flight, std::uint32_t index) {
    const PlannedRead& read = flight.read;
    for (std::uint32_t i = 0; i < read.pieces; ++i) {
      const ReadPiece& piece = flight.plan->pieces[read.first_piece + i];
      if (!read.straight) std::memcpy(piece.into, bounce_.Place(index) + (piece.begin - read.begin), piece.bytes);
      report_.bytes += piece.bytes;
      left_[piece.range] -= piece.bytes;
      if (left_[piece.range] > 0) continue;
      if (Status status = done_(piece.range); !status.ok()) return status;
    }
    return Status::Ok();
  }

  static Status TooShort(const ReadFile& file, std::uint64_t bytes, std::uint64_t due) {
    return Status(StatusCode::kDataLoss, file.name() + " ends after " + std::to_string(bytes) + " bytes where " +
                                             std::to_string(due) + " are due");
  }

  Channel& channel_;
  BounceMemory& bounce_;
  const IoOptions& options_;
  const int folder_;
  const std::vector<std::string>& files_;
  const std::span<const ReadRange> ranges_;
  const std::function<Status(std::size_t)>& done_;

  std::vector<std::uint32_t> order_;  // of ranges
  std::vector<std::uint64_t> left_;   // bytes of each range that have not come
  std::size_t next_range_ = 0;        // in order_: the first of a file that is not open yet
  std::shared_ptr<const ReadFile> file_;
  std::shared_ptr<const ReadPlan> plan_;
  std::size_t next_read_ = 0;  // in plan_
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_;
  IoReport report_;
};

class RangeReader final : public BatchReader {
 public:
  RangeReader(std::unique_ptr<Channel> channel, const IoOptions& options)
      : options_(options), bounce_(options.depth, options.block_bytes), channel_(std::move(channel)) {}

  Result<IoReport> Read(int folder, const std::vector<std::string>& files, std::span<const ReadRange> ranges,
                        const std::function<Status(std::size_t)>& done) override {
    return Reading(*channel_, bounce_, options_, folder, files, ranges, done).Run();
  }

 private:
  const IoOptions options_;
  BounceMemory bounce_;
  const std::unique_ptr<Channel> channel_;  // goes first: it may have registered the memory
};

}  // namespace

std::unique_ptr<BatchReader> MakeRangeReader(std::unique_ptr<Channel> channel, const IoOptions& options) {
  return std::make_unique<RangeReader>(std::move(channel), options);
}

Result<std::unique_ptr<BatchReader>> MakeBatchReader(const IoOptions& options, const std::string& folder) {
  Result<std::unique_ptr<Channel>> channel = MakeChannel(options, folder, IoDirection::kRead);
  if (!channel.ok()) return channel.status();
  return MakeRangeReader(std::move(channel).value(), options);
}

}  // namespace glim::checkpoint
