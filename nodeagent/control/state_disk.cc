#include "nodeagent/control/state_disk.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "sdk/io/io_error.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kDiskFull = "disk_full";
constexpr const char* kUnwritable = "state_unwritable";
constexpr std::int64_t kSpareBytes = 4 << 20;   // of a desired set, the largest jobs' aside
constexpr std::int64_t kRoomLeast = 256 << 10;  // with less, tasks' own small files fail
constexpr std::int64_t kRoomAgain = 1 << 20;    // a full disk is full until there is so much
constexpr std::int64_t kRoomPlenty = 1 << 30;   // what file systems count and do not give is less
constexpr std::uint64_t kFilesPlenty = 1000;
constexpr std::chrono::seconds kFullAfterFailure{3};
constexpr std::chrono::seconds kLookFine{5};
constexpr std::chrono::seconds kLookFaulty{1};
constexpr std::chrono::seconds kWalkLimit{5};
constexpr std::size_t kNamedMost = 3;

struct Room {
  std::int64_t free = 0;
  std::int64_t all = 0;
  bool few_files = false;  // that can be made yet
};

std::optional<Room> RoomOf(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return std::nullopt;
  const auto unit = static_cast<std::int64_t>(info.f_frsize);
  // What is kept back for root is root's.
  const auto blocks = static_cast<std::int64_t>(::geteuid() == 0 ? info.f_bfree : info.f_bavail);
  const bool few_files = info.f_files > 0 && info.f_ffree < kFilesPlenty;
  return Room{blocks * unit, static_cast<std::int64_t>(info.f_blocks) * unit, few_files};
}

std::string FullText(const std::string& state_dir) {
  const std::optional<Room> room = RoomOf(state_dir);
  std::string text = "the disk of " + state_dir + " is full";
  if (!room) return text;
  const std::string free = BytesText(room->free) + " of " + BytesText(room->all);
  if (room->free < kRoomLeast) return text + " (" + free + " free)";
  return text + " (its file system counts " + free + " as free and does not give them)";
}

}  // namespace

StateDisk::StateDisk(boost::asio::io_context& io, std::string state_dir, Hooks hooks)
    : io_(io),
      state_dir_(std::move(state_dir)),
      hooks_(std::move(hooks)),
      timer_(io),
      spare_(state_dir_ + "/spare", kSpareBytes) {}

void StateDisk::Start() { Look(); }

void StateDisk::Stop() {
  timer_.cancel();
  walk_.reset();
}

void StateDisk::Wrote(const Status& status) {
  const bool news = status.ok() != unwritten_.ok() || (status.ok() && !spare_.held());
  unwritten_ = status;
  if (news) Look();
}

bool StateDisk::Failed(const Status& start) {
  // The words alone are there of what another program could not write. A file elsewhere is no matter of this disk.
  const bool here = start.message().find(state_dir_) != std::string::npos;
  if (here && (IsDiskFull(start) || start.message().find(std::strerror(ENOSPC)) != std::string::npos)) {
    full_until_ = std::chrono::steady_clock::now() + kFullAfterFailure;
  }
  Look();
  return !kind_.empty();
}

bool StateDisk::HasRoom() const {
  if (std::chrono::steady_clock::now() < full_until_) return false;
  const std::int64_t least = kind_ == kDiskFull ? kRoomAgain : kRoomLeast;
  const std::optional<Room> room = RoomOf(state_dir_);
  if (!room || (room->free >= kRoomPlenty && !room->few_files)) return true;
  return room->free >= least && CanTake(least);
}

// A file of its own, so that it finds a file system that has room and makes no more files, too.
bool StateDisk::CanTake(std::int64_t bytes) const {
  SpareFile room(state_dir_ + "/room", bytes);
  const Status status = room.Take();
  room.Drop();
  return !IsDiskFull(status);  // what else is wrong with a file here its writers find
}

void StateDisk::Look() {
  const Status spare = spare_.Take();
  const bool full = IsDiskFull(spare) || IsDiskFull(unwritten_) || !HasRoom();
  if (full) {
    Settle(kDiskFull, FullText(state_dir_));
  } else if (!unwritten_.ok()) {
    Settle(kUnwritable, unwritten_.message());
  } else {
    Settle("", "");
  }
  LookLater();
}

void StateDisk::LookLater() {
  timer_.expires_after(kind_.empty() ? kLookFine : kLookFaulty);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    if (!unwritten_.ok()) hooks_.again();
    Look();
  });
}

// The words of a fault are those of its beginning: they are told once.
void StateDisk::Settle(const std::string& kind, const std::string& message) {
  if (kind == kind_) return;
  if (!kind_.empty() && kind.empty()) LogInfo("event=node_fault_over kind={}", kind_);
  walk_.reset();
  kind_ = kind;
  message_ = message;
  named_ = kind != kDiskFull;
  if (named_) {
    if (!kind.empty()) LogError("event=node_fault kind={} error={}", kind, Quoted(message));
    return hooks_.changed();
  }
  walk_ = std::make_unique<ApartCall<std::vector<DiskUse>>>(
      io_, [state_dir = state_dir_] { return LargestIn(state_dir, kNamedMost); }, kWalkLimit,
      [this](const std::optional<std::vector<DiskUse>>& uses) {
        std::string words;
        for (const DiskUse& use : uses.value_or(std::vector<DiskUse>())) {
          words += (words.empty() ? "; the largest there: " : ", ") + use.path + " (" + BytesText(use.size) + ")";
        }
        message_ += words + "; remove what is not needed, or give the folder a larger file system";
        named_ = true;
        LogError("event=node_fault kind={} error={}", kind_, Quoted(message_));
        hooks_.changed();
      });
}

std::string StateDisk::Fault() const { return kind_.empty() ? "" : "this node cannot start it: " + message_; }

void StateDisk::Report(v1::NodeReport* report) const {
  if (kind_.empty() || !named_) return;
  v1::NodeFault& fault = *report->add_faults();
  fault.set_kind(kind_);
  fault.set_message(message_);
}

}  // namespace glim::nodeagent
