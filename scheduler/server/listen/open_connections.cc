#include "scheduler/server/listen/open_connections.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "sdk/io/unique_fd.h"

namespace glim::server {
namespace {

constexpr Duration kLookEvery = Milliseconds(100);  // at all of them: a full port must not cost a processor
// A handshake is 3 KiB, an answer or a refusal a hundred bytes.
constexpr std::uint64_t kOutAtOnce = 16 * 1'024;
constexpr std::uint64_t kOutEachSecond = 1'024;
// Four of the largest messages (listener.cc), for one who begins with several; and what a handshake and headers are.
constexpr std::uint64_t kInAtOnce = 65 << 20;
constexpr std::uint64_t kInEachSecond = 4'096;
// What gRPC has read it works off before anybody can stop it, some MiB of a connection. A handshake and a first call
// are done in some ms.
constexpr std::size_t kFreshMax = 8;
constexpr Duration kFreshFor = Milliseconds(10);
constexpr Duration kFreshForInAFlood = Seconds(1);
constexpr Duration kFlood = Seconds(1);
// Strangers begin one or two; whose token counts may begin all at once before the first has shown it.
constexpr std::uint64_t kCallsAtOnce = 256;
constexpr std::uint64_t kCallsEachSecond = 4;
// Whose token counts has shown it by then.
constexpr Duration kProvesWithin = Seconds(2);
// Between two looks at strangers: a look costs 2 us each.
constexpr Duration kLookLeast = Milliseconds(20);
constexpr std::size_t kStrangersPerMillisecond = 10;

// gRPC may close it meanwhile, and the number be another's: what is hung up on is held by a number of our own. Not so a
// file: the locks that this process has on it, SQLite's for one, go when any of its numbers is closed.
UniqueFd Hold(OpenConnections::Socket socket) {
  if (CookieOf(socket.fd) != socket.cookie) return {};
  UniqueFd held(::fcntl(socket.fd, F_DUPFD_CLOEXEC, 0));
  if (!held || CookieOf(held.get()) == socket.cookie) return held;
  // Closed and given out again in between. A number is lost rather than a file's locks.
  if (struct stat info{}; ::fstat(held.get(), &info) != 0 || !S_ISSOCK(info.st_mode)) held.Release();
  held.Reset();
  return held;
}

std::optional<net::TcpCounts> Counts(OpenConnections::Socket socket) {
  const auto counts = net::CountsOf(socket.fd);
  if (CookieOf(socket.fd) != socket.cookie) return std::nullopt;  // no other has it: what was asked was this one
  return counts;
}

void HangUp(OpenConnections::Socket socket) {
  if (const UniqueFd held = Hold(socket)) net::Disconnect(held.get());
}

}  // namespace

TimePoint SteadyNow() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return TimePoint{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
}

std::uint64_t CookieOf(int fd) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return ::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

OpenConnections::Kernel OpenConnections::RealKernel() {
  return {[](Socket socket) { return CookieOf(socket.fd) == socket.cookie; }, Counts, HangUp};
}

bool OpenConnections::Fits(const std::string& host) const {
  const auto of_host = hosts_.find(host);
  return open_.size() < bounds_.all && (of_host == hosts_.end() || of_host->second.all.size() < bounds_.of_peer);
}

void OpenConnections::Forget(std::uint64_t cookie) {
  const auto found = open_.find(cookie);
  if (found == open_.end()) return;
  const Row& row = found->second;
  const auto host = hosts_.find(row.host);
  host->second.all.erase(cookie);
  host->second.strangers.erase({row.turn, cookie});
  if (const auto user = host->second.users.find(row.user); user != host->second.users.end()) {
    user->second.erase({row.turn, cookie});
    if (user->second.empty()) host->second.users.erase(user);
  }
  if (host->second.all.empty()) hosts_.erase(host);
  strangers_.erase({row.turn, cookie});
  if (const auto at = descriptors_.find(row.fd); at != descriptors_.end() && at->second == cookie) {
    descriptors_.erase(at);
  }
  if (const auto at = peers_.find(row.peer); at != peers_.end() && at->second == cookie) peers_.erase(at);
  open_.erase(found);
}

void OpenConnections::ForgetClosed(const std::vector<std::uint64_t>& cookies) {
  for (const std::uint64_t cookie : cookies) {
    if (!kernel_.is_open({open_.at(cookie).fd, cookie})) Forget(cookie);
  }
}

void OpenConnections::EndAndForget(std::uint64_t cookie) {
  kernel_.end({open_.at(cookie).fd, cookie});
  Forget(cookie);
}

void OpenConnections::EndOldest(const Order& order) { EndAndForget(order.begin()->second); }

void OpenConnections::MakeRoom(const std::string& name, TimePoint now) {
  const auto host = hosts_.find(name);
  if (host != hosts_.end() && host->second.all.size() >= bounds_.of_peer) {
    if (now - host->second.looked_at >= kLookEvery || host->second.strangers.empty()) {
      host->second.looked_at = now;
      ForgetClosed({host->second.all.begin(), host->second.all.end()});
    }
    if (!Fits(name) && open_.size() < bounds_.all && !host->second.strangers.empty()) {
      EndOldest(host->second.strangers);
    }
  }
  if (open_.size() < bounds_.all) return;
  if (now - looked_at_ >= kLookEvery) {
    looked_at_ = now;
    std::vector<std::uint64_t> all;
    for (const auto& [cookie, row] : open_) all.push_back(cookie);
    ForgetClosed(all);
  }
  if (open_.size() >= bounds_.all && !strangers_.empty()) EndOldest(strangers_);
}

bool OpenConnections::HasTurn(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (ended_.size() >= kFreshMax) ForgetEnded();
  if (ended_.size() >= kFreshMax) return false;
  const std::size_t others = kFreshMax - ended_.size();
  if (strangers_.size() < others) return true;
  const auto& [turn, cookie] = *std::next(strangers_.rbegin(), static_cast<std::ptrdiff_t>(others) - 1);
  return now - open_.at(cookie).since >= (flooded_until_ > now ? kFreshForInAFlood : kFreshFor);
}

bool OpenConnections::Take(const std::string& host, const std::string& peer, Socket socket, TimePoint now) {
  if (socket.cookie == 0) return true;  // a kernel without them: nobody could be told from who has gone
  const std::lock_guard lock(mutex_);
  // The descriptor is given out again: whose it was is gone.
  if (const auto before = descriptors_.find(socket.fd); before != descriptors_.end()) Forget(before->second);
  if (!Fits(host)) MakeRoom(host, now);
  if (!Fits(host)) return false;
  const std::uint64_t turn = ++turns_;
  const bool stranger = !peer.empty();
  open_[socket.cookie] = {socket.fd, host, peer, turn, now, stranger, {}};
  descriptors_[socket.fd] = socket.cookie;
  Host& of_host = hosts_[host];
  of_host.all.insert(socket.cookie);
  if (!stranger) return true;
  peers_[peer] = socket.cookie;
  of_host.strangers.emplace(turn, socket.cookie);
  strangers_.emplace(turn, socket.cookie);
  return true;
}

std::uint64_t OpenConnections::Proven(const std::string& peer, const std::string& user) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return 0;
  const std::uint64_t cookie = found->second;
  Row& row = open_.at(cookie);
  if (!row.stranger) return cookie;
  row.stranger = false;
  row.user = user;
  strangers_.erase({row.turn, cookie});
  Host& host = hosts_.at(row.host);
  host.strangers.erase({row.turn, cookie});
  if (user.empty()) return cookie;
  host.users[user].emplace(row.turn, cookie);
  HoldToShare(std::string(row.host), user);
  return open_.contains(cookie) ? cookie : 0;
}

const OpenConnections::Order* OpenConnections::OfUser(const std::string& host, const std::string& user) const {
  const auto at = hosts_.find(host);
  if (at == hosts_.end()) return nullptr;
  const auto own = at->second.users.find(user);
  return own == at->second.users.end() ? nullptr : &own->second;
}

void OpenConnections::HoldToShare(const std::string& host, const std::string& user) {
  const std::size_t most = std::max<std::size_t>(1, bounds_.of_peer / 2);
  const Order* own = OfUser(host, user);
  if (own == nullptr || own->size() <= most) return;
  std::vector<std::uint64_t> all;
  for (const auto& [turn, one] : *own) all.push_back(one);
  ForgetClosed(all);
  own = OfUser(host, user);  // with the last of them the user is forgotten, too
  if (own != nullptr && own->size() > most) EndOldest(*own);
}

void OpenConnections::End(std::uint64_t cookie) {
  const std::lock_guard lock(mutex_);
  const auto row = open_.find(cookie);
  if (row != open_.end()) kernel_.end({row->second.fd, cookie});
}

void OpenConnections::ForgetEnded() {
  std::erase_if(ended_, [this](Socket socket) { return !kernel_.is_open(socket); });
}

std::optional<Duration> OpenConnections::EndGreedyStrangers(TimePoint now) {
  const std::lock_guard lock(mutex_);
  ForgetEnded();
  if (strangers_.empty() && ended_.empty()) return std::nullopt;
  std::vector<std::uint64_t> ended;
  for (const auto& [turn, cookie] : strangers_) {
    const Row& row = open_.at(cookie);
    const auto seconds = static_cast<std::uint64_t>((now - row.since).ms / 1'000);
    const std::optional<net::TcpCounts> counts = kernel_.counts({row.fd, cookie});
    if (!counts || counts->given > kOutAtOnce + seconds * kOutEachSecond ||
        counts->received > kInAtOnce + seconds * kInEachSecond) {
      ended.push_back(cookie);
    }
  }
  for (const std::uint64_t cookie : ended) EndAndForget(cookie);
  const auto pause = Milliseconds(static_cast<std::int64_t>(strangers_.size() / kStrangersPerMillisecond));
  return std::max(pause, kLookLeast);
}

std::set<std::string> OpenConnections::Strangers() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> peers;
  for (const auto& [turn, cookie] : strangers_) peers.insert(open_.at(cookie).peer);
  return peers;
}

std::size_t OpenConnections::EndStrangersWhoBegan(const std::map<std::string, std::uint64_t>& calls, TimePoint now,
                                                  std::optional<std::uint64_t> offender) {
  const std::lock_guard lock(mutex_);
  std::size_t ended = 0;
  for (const auto& [peer, count] : calls) {
    const auto found = peers_.find(peer);
    if (found == peers_.end()) continue;
    const Row& row = open_.at(found->second);
    if (!row.stranger) continue;
    const auto seconds = static_cast<std::uint64_t>((now - row.since).ms / 1'000);
    const bool floods = count > kCallsAtOnce + seconds * kCallsEachSecond;
    const bool goes_on = offender && count >= *offender && now - row.since >= kProvesWithin;
    if (!floods && !goes_on) continue;
    if (floods) flooded_until_ = now + kFlood;
    ended_.push_back({row.fd, found->second});
    EndAndForget(found->second);
    ++ended;
  }
  return ended;
}

std::size_t OpenConnections::count() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

}  // namespace glim::server
