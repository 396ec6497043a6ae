#include "sdk/checkpoint/io/target_limit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/io/io_error.h"

namespace glim::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kTicket = "ticket-";
constexpr const char* kDoor = "door";  // held while a number is drawn
// Of a turn that lasts seconds, a wait of this is nothing; a process that was killed cannot wake anybody.
constexpr auto kFirstNap = std::chrono::milliseconds(2);
constexpr auto kLongestNap = std::chrono::milliseconds(50);

// Sleeps longer each time. False: the deadline has passed.
class Naps {
 public:
  explicit Naps(Clock::time_point deadline) : deadline_(deadline) {}
  bool Next() {
    const Clock::time_point now = Clock::now();
    if (now >= deadline_) return false;
    std::this_thread::sleep_until(std::min(deadline_, now + nap_));
    nap_ = std::min<Clock::duration>(nap_ * 2, kLongestNap);
    return true;
  }

 private:
  const Clock::time_point deadline_;
  Clock::duration nap_ = kFirstNap;
};

Status TooLate(const std::string& target) {
  return Status(StatusCode::kDeadlineExceeded, "no turn to write to file system " + target + " came in time")
      .WithFix("see who writes there for so long, or allow more writers at once");
}

// The numbers of all tickets, living or not. Other names are nobody's business.
Result<std::vector<std::uint64_t>> ReadTickets(int folder) {
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return IoError(errno, "list the writers' tickets");
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(again), ::closedir);  // owns the descriptor
  GLIM_CHECK(entries != nullptr, "no memory for a folder's entries");
  std::vector<std::uint64_t> numbers;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kTicket)) continue;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + kTicket.size(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  return numbers;
}

std::string TicketName(std::uint64_t number) { return std::string(kTicket) + std::to_string(number); }

// Removes it if not: its number is lower than the asker's, and is not drawn again while the asker lives.
bool IsAlive(int folder, std::uint64_t number) {
  const std::string name = TicketName(number);
  const UniqueFd fd(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return errno != ENOENT;
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) return true;
  ::unlinkat(folder, name.c_str(), 0);
  return false;
}

}  // namespace

Result<std::string> TargetOf(int folder) {
  struct stat found {};
  if (::fstat(folder, &found) != 0) return IoError(errno, "look at the folder");
  return std::to_string(major(found.st_dev)) + "-" + std::to_string(minor(found.st_dev));
}

WriterTurn::WriterTurn(int folder, std::string ticket, UniqueFd lock)
    : folder_(::fcntl(folder, F_DUPFD_CLOEXEC, 0)), ticket_(std::move(ticket)), lock_(std::move(lock)) {}

WriterTurn& WriterTurn::operator=(WriterTurn&& other) noexcept {
  Release();
  folder_ = std::move(other.folder_);
  ticket_ = std::move(other.ticket_);
  lock_ = std::move(other.lock_);
  return *this;
}

void WriterTurn::Release() {
  if (!lock_) return;
  ::unlinkat(folder_.get(), ticket_.c_str(), 0);
  ::flock(lock_.get(), LOCK_UN);  // a forked child may have the descriptor as well
  lock_.Reset();
}

TargetLimit::TargetLimit(std::string base, std::string target, std::uint32_t writers)
    : base_(std::move(base)), target_(std::move(target)), writers_(writers) {
  GLIM_CHECK(writers > 0, "a limit of no writer lets nobody write");
}

Result<WriterTurn> TargetLimit::DrawTicket(int folder, Clock::time_point deadline, std::uint64_t& number) const {
  const UniqueFd door(::openat(folder, kDoor, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!door) return IoError(errno, "open " + base_ + "/" + target_ + "/" + kDoor);
  Naps naps(deadline);
  while (::flock(door.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return IoError(errno, "lock " + base_ + "/" + target_ + "/" + kDoor);
    if (!naps.Next()) return TooLate(target_);
  }
  const Result<std::vector<std::uint64_t>> numbers = ReadTickets(folder);
  if (!numbers.ok()) return numbers.status();
  number = numbers->empty() ? 1 : *std::max_element(numbers->begin(), numbers->end()) + 1;
  const std::string name = TicketName(number);
  UniqueFd lock(::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return IoError(errno, "draw " + name);
  WriterTurn turn(folder, name, std::move(lock));
  ::flock(door.get(), LOCK_UN);
  return turn;
}

Result<WriterTurn> TargetLimit::Acquire(Clock::time_point deadline) const {
  const std::string path = base_ + "/" + target_;
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return IoError(errno, "make " + path);
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder) return IoError(errno, "open " + path);
  std::uint64_t number = 0;
  Result<WriterTurn> turn = DrawTicket(folder.get(), deadline, number);
  if (!turn.ok()) return turn;
  Naps naps(deadline);
  while (true) {
    const Result<std::vector<std::uint64_t>> numbers = ReadTickets(folder.get());
    if (!numbers.ok()) return numbers.status();
    const auto before = std::count_if(numbers->begin(), numbers->end(), [&](std::uint64_t other) {
      return other < number && IsAlive(folder.get(), other);
    });
    if (static_cast<std::uint64_t>(before) < writers_) return turn;
    if (!naps.Next()) return TooLate(target_);
  }
}

}  // namespace glim::checkpoint
