#include "sdk/hfreduce/node/segment.h"

#include <fcntl.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "sdk/hfreduce/node/numa.h"
#include "sdk/hfreduce/node/process_identity.h"

namespace glim::hfreduce {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAlignment = std::size_t{2} << 20;  // a huge page
constexpr std::size_t kPage = 4096;
constexpr std::size_t kAreaBytesMax = std::size_t{1} << 40;
constexpr std::chrono::milliseconds kLookAgain{1};
constexpr Duration kCheckPeers = Milliseconds(20);

std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

Status CheckOptions(const SegmentOptions& options) {
  if (options.ranks < 1 || options.ranks > kLocalRanksMax) {
    return InvalidArgument("ranks", "a node has 1 to " + std::to_string(kLocalRanksMax) + " processes");
  }
  if (options.local_rank >= options.ranks) return InvalidArgument("local_rank", "is not below the number of ranks");
  if (options.name.empty() || options.name.find('/') != std::string::npos) {
    return InvalidArgument("name", "'" + options.name + "' is no name of a file");
  }
  for (const std::size_t bytes : {options.stage_bytes, options.result_bytes, options.arena_bytes}) {
    if (bytes < kPage || bytes > kAreaBytesMax) {
      return InvalidArgument("stage_bytes", "an area of the segment has 4 KiB to 1 TiB");
    }
  }
  return Status::Ok();
}

}  // namespace

std::string SegmentName(const std::string& communicator_id, std::uint32_t node) {
  std::string name = "glim-hfreduce-" + communicator_id.substr(0, 128) + "-" + std::to_string(node);
  for (char& c : name) {
    if (c == '/' || c == '\0') c = '_';
  }
  return name;
}

Segment::Segment(const SegmentOptions& options) : options_(options) {
  options_.stage_bytes = RoundUp(options.stage_bytes, kPage);
  options_.result_bytes = RoundUp(options.result_bytes, kPage);
  options_.arena_bytes = RoundUp(options.arena_bytes, kAlignment);
  stage_offset_ = RoundUp(sizeof(SegmentHeader), kPage);
  result_offset_ = stage_offset_ + options_.ranks * options_.stage_bytes;
  arena_offset_ = RoundUp(result_offset_ + options_.result_bytes, kAlignment);
  bytes_ = arena_offset_ + options_.ranks * options_.arena_bytes;
}

Result<std::unique_ptr<Segment>> Segment::Open(const SegmentOptions& options) {
  if (Status status = CheckOptions(options); !status.ok()) return status;
  std::unique_ptr<Segment> segment(new Segment(options));
  Status status = options.local_rank == 0 ? segment->Create() : segment->Attach();
  if (status.ok()) status = segment->WaitForAll();
  if (segment->file_.fd() >= 0 && segment->joined_) {
    segment->file_.RemoveName(segment->path());
    if (!status.ok()) segment->Fail(status);
  }
  if (!status.ok()) return status;
  return segment;
}

Segment::~Segment() {
  if (base_ == nullptr) return;
  if (joined_) {
    own().presence.store(static_cast<std::uint32_t>(RankPresence::kLeft), std::memory_order_release);
    bell_->RingOthers();
  }
  bell_.reset();
  (void)::munmap(base_, bytes_);
}

Status Segment::Create() {
  auto made = SegmentFile::Make(options_.folder, bytes_);
  if (!made.ok()) return made.status();
  file_ = std::move(made.value());
  if (Status status = file_.Reserve(0, stage_offset_); !status.ok()) return status;
  if (Status status = Map(); !status.ok()) return status;
  FillHeader();
  if (Status status = Join(); !status.ok()) return status;
  // The name is free again as soon as another run's processes have all come.
  const Clock::time_point until = Clock::now() + std::chrono::milliseconds(options_.timeout.ms);
  Status status = file_.Publish(path());
  while (status.code() == StatusCode::kAlreadyExists && Clock::now() < until) {
    std::this_thread::sleep_for(kLookAgain);
    status = file_.Publish(path());
  }
  return status;
}

Status Segment::Attach() {
  const Clock::time_point until = Clock::now() + std::chrono::milliseconds(options_.timeout.ms);
  for (;;) {
    const auto found = SegmentFile::Find(path(), options_.session, &file_);
    if (!found.ok()) return found.status();
    if (*found == SegmentFile::Found::kUsable) break;
    if (Clock::now() >= until) {
      return Status(StatusCode::kDeadlineExceeded,
                    NameOf(0) + " has not made " + path() + " within " + std::to_string(options_.timeout.ms) + " ms");
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  struct stat info {};
  // A file of other sizes would be a SIGBUS, so the head is read before the rest is mapped.
  if (::fstat(file_.fd(), &info) != 0 || static_cast<std::uint64_t>(info.st_size) < sizeof(SegmentHeader)) {
    return Status(StatusCode::kFailedPrecondition, path() + " is too short for a segment");
  }
  if (Status status = Map(); !status.ok()) return status;
  if (Status status = CheckHeader(); !status.ok()) {
    if (head().version == kLayoutVersion) Fail(status);
    return status;
  }
  return Join();
}

Status Segment::Map() {
  void* mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.fd(), 0);
  if (mapped == MAP_FAILED) {
    return Status(StatusCode::kResourceExhausted,
                  "mapping " + std::to_string(bytes_) + " bytes of " + path() + ": " + std::strerror(errno))
        .WithFix("use a smaller arena");
  }
  base_ = static_cast<std::byte*>(mapped);
  (void)::madvise(base_ + arena_offset_, bytes_ - arena_offset_, MADV_HUGEPAGE);
  return Status::Ok();
}

void Segment::FillHeader() {
  auto* header = new (base_) SegmentHeader;
  const ProcessIdentity self = ThisProcess();
  header->ranks = options_.ranks;
  header->session = options_.session;
  header->stage_bytes = options_.stage_bytes;
  header->result_bytes = options_.result_bytes;
  header->arena_bytes = options_.arena_bytes;
  header->owner_pid = self.pid;
  header->owner_start_ticks = self.start_ticks;
  InterleaveOverNumaNodes(base_ + stage_offset_, result_offset_ - stage_offset_);
  InterleaveOverNumaNodes(base_ + arena_offset_, bytes_ - arena_offset_);
  PreferNumaNode(base_ + RoundUp(result_offset_, kPage), options_.result_bytes, options_.numa_node);
}

Status Segment::CheckHeader() const {
  const auto check = [this](const char* field, std::uint64_t own, std::uint64_t theirs) {
    if (own == theirs) return Status::Ok();
    return InvalidArgument(field, NameOf(options_.local_rank) + " was given " + field + " " + std::to_string(own) +
                                      ", " + NameOf(0) + " " + std::to_string(theirs));
  };
  Status status = check("version", kLayoutVersion, head().version);
  if (status.ok()) status = check("ranks", options_.ranks, head().ranks);
  if (status.ok()) status = check("stage_bytes", options_.stage_bytes, head().stage_bytes);
  if (status.ok()) status = check("result_bytes", options_.result_bytes, head().result_bytes);
  if (status.ok()) status = check("arena_bytes", options_.arena_bytes, head().arena_bytes);
  return status;
}

Status Segment::Join() {
  const ProcessIdentity self = ThisProcess();
  std::int32_t nobody = 0;
  if (!own().pid.compare_exchange_strong(nobody, self.pid)) {
    return Status(StatusCode::kAlreadyExists,
                  NameOf(options_.local_rank) + " is process " + std::to_string(nobody) + " already")
        .WithField("local_rank");
  }
  own().start_ticks.store(self.start_ticks);
  own().presence.store(static_cast<std::uint32_t>(RankPresence::kJoined), std::memory_order_release);
  bell_ = std::make_unique<Bell>(header(), options_.local_rank);
  joined_ = true;
  header().joined.fetch_add(1, std::memory_order_acq_rel);
  WakeFutex(header().joined);
  return Status::Ok();
}

Status Segment::WaitForAll() {
  const Clock::time_point until = Clock::now() + std::chrono::milliseconds(options_.timeout.ms);
  for (;;) {
    const std::uint32_t joined = header().joined.load(std::memory_order_acquire);
    if (joined == options_.ranks) return Status::Ok();
    if (failed()) return failure();
    if (Status status = CheckAlive(1); !status.ok()) {
      // One that came last of all may have left already.
      return header().joined.load(std::memory_order_acquire) == options_.ranks ? Status::Ok() : status;
    }
    if (Clock::now() >= until) break;
    WaitOnFutex(header().joined, joined, kCheckPeers);
  }
  std::string missing;
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) {
    if (this->rank(rank).presence.load() != 0) continue;
    missing += (missing.empty() ? "" : ", ") + NameOf(rank);
  }
  return Status(StatusCode::kDeadlineExceeded,
                "not on the node within " + std::to_string(options_.timeout.ms) + " ms: " + missing);
}

std::string Segment::NameOf(std::uint32_t local_rank) const {
  return "rank " + std::to_string(options_.first_rank + local_rank);
}

Result<std::span<std::byte>> Segment::Allocate(std::size_t bytes) {
  const std::uint64_t offset = RoundUp(allocated_, bytes >= kAlignment ? kAlignment : kPage);
  if (offset > options_.arena_bytes || bytes > options_.arena_bytes - offset) {
    return Status(StatusCode::kResourceExhausted, "the arena has " + std::to_string(options_.arena_bytes) + " bytes, " +
                                                      std::to_string(allocated_) + " are taken");
  }
  const std::uint64_t start = arena_offset_ + options_.local_rank * options_.arena_bytes + offset;
  if (Status status = file_.Reserve(start, bytes); !status.ok()) return status;
  allocated_ = offset + bytes;
  return std::span<std::byte>(base_ + start, bytes);
}

std::optional<std::uint64_t> Segment::OffsetOf(const void* start, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  const auto arenas = reinterpret_cast<std::uintptr_t>(base_) + arena_offset_;
  const std::uint64_t room = bytes_ - arena_offset_;
  if (address < arenas || address - arenas > room || bytes > room - (address - arenas)) return std::nullopt;
  return address - arenas + arena_offset_;
}

std::byte* Segment::At(std::uint64_t offset, std::size_t bytes) {
  if (offset < arena_offset_ || offset > bytes_ || bytes > bytes_ - offset) return nullptr;
  // All at once: a fault a page, whenever this process reduces a chunk for the first time, costs as much as the chunk.
  std::uint64_t& mapped_to =
      mapped_to_[std::min<std::uint64_t>((offset - arena_offset_) / options_.arena_bytes, kLocalRanksMax - 1)];
  if (offset + bytes > mapped_to) {
    const std::uint64_t from = std::max(offset, mapped_to) / kPage * kPage;
    (void)::madvise(base_ + from, offset + bytes - from, MADV_POPULATE_READ);
    mapped_to = offset + bytes;
  }
  return base_ + offset;
}

Status Segment::ReserveStage() {
  if (stage_reserved_) return Status::Ok();
  Status status = file_.Reserve(stage_offset_ + options_.local_rank * options_.stage_bytes, options_.stage_bytes);
  stage_reserved_ = status.ok();
  return status;
}

Status Segment::ReserveResults() {
  if (results_reserved_) return Status::Ok();
  Status status = file_.Reserve(result_offset_, options_.result_bytes);
  results_reserved_ = status.ok();
  return status;
}

void Segment::Fail(const Status& status) {
  FailureState& failure = header().failure;
  std::uint32_t none = FailureState::kNone;
  if (failure.state.compare_exchange_strong(none, FailureState::kWriting)) {
    failure.code = static_cast<std::int32_t>(status.code());
    const std::size_t length = std::min(status.message().size(), sizeof(failure.text) - 1);
    std::memcpy(failure.text, status.message().data(), length);
    failure.text[length] = '\0';
    failure.state.store(FailureState::kSet, std::memory_order_release);
  }
  WakeFutex(header().joined);
  if (bell_) bell_->RingAll();
}

Status Segment::failure() const {
  const FailureState& failure = head().failure;
  // Who writes it may have died in between: then the text stays away.
  for (int look = 0; look < 100; ++look) {
    const std::uint32_t state = failure.state.load(std::memory_order_acquire);
    if (state == FailureState::kNone) return Status::Ok();
    if (state == FailureState::kSet) {
      return Status(static_cast<StatusCode>(failure.code),
                    std::string(failure.text, ::strnlen(failure.text, sizeof(failure.text))));
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return Status(StatusCode::kUnavailable, "a process of the node failed and died before it could say why");
}

Status Segment::CheckAlive(std::uint64_t sequence) {
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) {
    RankState& state = this->rank(rank);
    const auto presence = static_cast<RankPresence>(state.presence.load(std::memory_order_acquire));
    if (rank == options_.local_rank || presence == RankPresence::kAbsent) continue;
    if (state.finished.Get() >= sequence) continue;
    if (presence == RankPresence::kLeft) {
      return Status(StatusCode::kUnavailable, NameOf(rank) + " has left");
    }
    const ProcessIdentity process{state.pid.load(), state.start_ticks.load()};
    if (!IsAlive(process)) {
      return Status(StatusCode::kUnavailable, NameOf(rank) + " (process " + std::to_string(process.pid) + ") died");
    }
  }
  return Status::Ok();
}

}  // namespace glim::hfreduce
