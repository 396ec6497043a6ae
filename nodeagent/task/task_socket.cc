#include "nodeagent/task/task_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>

#include "nodeagent/task/sealed_file.h"
#include "nodeagent/task/task_peer.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/log/log.h"

namespace glim::nodeagent {
namespace {

namespace asio = boost::asio;
using nlohmann::json;
using Protocol = asio::local::stream_protocol;

constexpr std::size_t kStateBytesMax = 16 * 1024 * 1024;
constexpr std::int64_t kSpareBytes = 64 * 1024;
constexpr int kHelloSeconds = 10;
constexpr std::chrono::seconds kPersistProgress{1};
constexpr std::size_t kSpareConnections = 16;  // beyond two a rank: short-lived clients come and go

std::string Dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string Refusal(std::uint64_t seq, const std::string& error) {
  return Dump({{"type", "refused"}, {"seq", seq}, {"error", error}});
}

// A stranger's word for the log: one, short, and nothing that ends the line.
std::string Word(std::string text) {
  text.resize(std::min<std::size_t>(text.size(), 64));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c <= ' ' || c >= 0x7f || c == '"'; }, '_');
  return text;
}

}  // namespace

class TaskSocket::Peer final : public LinePeer {
 public:
  using LinePeer::LinePeer;
};

Status CheckSocketPath(const std::string& path) {
  const std::size_t room = sizeof(sockaddr_un{}.sun_path) - 1;
  if (path.size() <= room) return Status::Ok();
  return InvalidArgument("--state-dir",
                         "the task socket's path " + path + " has " + std::to_string(path.size()) +
                             " bytes, and the system allows " + std::to_string(room),
                         "give a shorter --state-dir");
}

TaskSocket::TaskSocket(asio::io_context& io, Options options)
    : io_(io),
      options_(std::move(options)),
      acceptor_(io),
      persist_timer_(io),
      spare_(options_.state_path + ".spare", kSpareBytes) {
  for (std::uint32_t rank : options_.ranks) ranks_.emplace_back().rank = rank;
}

TaskSocket::~TaskSocket() = default;

Status TaskSocket::Open() {
  if (Status status = CheckSocketPath(options_.socket_path); !status.ok()) return status;
  const Result<std::string> text = ReadSealed(options_.state_path, kStateBytesMax);
  if (text.ok()) {
    const auto states = ParseRankStates(*text);
    if (!states.ok()) return states.status();
    for (const RankState& state : *states) {
      if (RankState* rank = Find(state.rank)) *rank = state;
    }
  }
  (void)spare_.Take();  // without it the ranks say again what could not be written
  ::unlink(options_.socket_path.c_str());
  boost::system::error_code error;
  acceptor_.open(Protocol(), error);
  const mode_t mask = ::umask(0177);
  if (!error) acceptor_.bind(Protocol::endpoint(options_.socket_path), error);
  ::umask(mask);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return FileError("listen on", options_.socket_path, error.value());
  if (options_.peer_uid != ::geteuid() && ::lchown(options_.socket_path.c_str(), options_.peer_uid, -1) != 0) {
    return FileError("give the ranks", options_.socket_path, errno);
  }
  Accept();
  return Status::Ok();
}

void TaskSocket::Close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  persist_timer_.cancel();
  if (persist_pending_) PersistLate();
  peers_.clear();
  for (const auto& peer : std::exchange(connections_, {})) peer->Close();
}

void TaskSocket::Accept() {
  acceptor_.async_accept([self = shared_from_this()](boost::system::error_code error, Protocol::socket socket) {
    if (!self->acceptor_.is_open()) return;
    if (!error) {
      self->Admit(std::move(socket));
      return self->Accept();
    }
    // Most likely out of descriptors: try again when some may have been given back.
    auto timer = std::make_shared<asio::steady_timer>(self->io_, std::chrono::milliseconds(200));
    timer->async_wait([self, timer](boost::system::error_code) {
      if (self->acceptor_.is_open()) self->Accept();
    });
  });
}

void TaskSocket::Admit(Protocol::socket socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      (peer.uid != 0 && peer.uid != ::geteuid() && peer.uid != options_.peer_uid)) {
    LogWarning("event=task_socket_refused task={} uid={} reason=\"not the task's user\"", options_.task, peer.uid);
    return;
  }
  if (connections_.size() >= 2 * ranks_.size() + kSpareConnections) {
    LogWarning("event=task_socket_refused task={} connections={} reason=\"too many\"", options_.task,
               connections_.size());
    return;
  }
  auto connection = std::make_shared<Peer>(std::move(socket));
  connections_.insert(connection);
  const std::weak_ptr<Peer> weak = connection;
  connection->Start(
      [self = shared_from_this(), weak](std::string_view line) {
        if (auto peer = weak.lock()) self->OnLine(peer, line);
      },
      [self = shared_from_this(), weak] {
        if (auto peer = weak.lock()) self->OnClosed(peer);
      });
  connection->ExpectWithin(kHelloSeconds);
}

void TaskSocket::OnClosed(const std::shared_ptr<Peer>& peer) {
  connections_.erase(peer);
  if (!peer->rank) return;
  const auto it = peers_.find(*peer->rank);
  if (it == peers_.end() || it->second != peer) return;
  peers_.erase(it);
  options_.on_news(RankNews::kChange);
}

RankState* TaskSocket::Find(std::uint32_t rank) {
  const auto it = std::find_if(ranks_.begin(), ranks_.end(), [&](const RankState& r) { return r.rank == rank; });
  return it == ranks_.end() ? nullptr : &*it;
}

bool TaskSocket::Greet(const std::shared_ptr<Peer>& peer, const TaskMessage& message) {
  const auto refuse = [&](const std::string& error) {
    peer->Send(Refusal(message.seq, error));
    return false;
  };
  if (const auto* refused = std::get_if<RefusedMessage>(&message.body)) return refuse(refused->error);
  const auto* hello = std::get_if<HelloMessage>(&message.body);
  if (!hello) return refuse("the first line of a connection must be hello");
  if (hello->protocol != kTaskSocketProtocol) {
    LogWarning("event=rank_speaks_another_protocol task={} rank={} protocol={} sdk={}", options_.task, hello->rank,
               hello->protocol, Word(hello->sdk));
    peer->Send(
        Dump({{"type", "refused"},
              {"seq", message.seq},
              {"protocol", kTaskSocketProtocol},
              {"version", options_.version},
              {"error", "protocol: " + std::to_string(hello->protocol) + " is not spoken by this node's agent (" +
                            options_.version + "), which speaks " + std::to_string(kTaskSocketProtocol)}}));
    return false;
  }
  RankState* state = Find(hello->rank);
  if (!state) return refuse("rank: " + std::to_string(hello->rank) + " is not a rank of this node");
  peer->Keep();
  peer->rank = hello->rank;
  if (!std::exchange(state->greeted, true)) Persist();
  auto& place = peers_[hello->rank];
  const bool replaced = place && place != peer;
  if (replaced) {
    place->Close();
    connections_.erase(place);
  }
  place = peer;
  peer->Send(Dump({{"type", "welcome"},
                   {"protocol", kTaskSocketProtocol},
                   {"version", options_.version},
                   {"seq", state->seq},
                   {"agreement", interrupt_ && !interrupt_->withdrawn ? interrupt_->agreement : 0},
                   {"step", state->step}}));
  Tell(*peer);
  if (!replaced) options_.on_news(RankNews::kChange);
  return true;
}

void TaskSocket::OnLine(const std::shared_ptr<Peer>& peer, std::string_view line) {
  const TaskMessage message = ParseTaskLine(line);
  if (!peer->rank || std::holds_alternative<HelloMessage>(message.body)) {
    if (!Greet(peer, message) && !peer->rank) peer->ExpectWithin(1);  // long enough to read why
    return;
  }
  RankState* state = Find(*peer->rank);
  const RankState before = *state;
  const Taken taken = TakeIn(*state, message);
  if (const auto* refused = std::get_if<RefusedMessage>(&message.body); refused && taken == Taken::kRefused) {
    peer->Send(Refusal(message.seq, refused->error));
  }
  if ((taken == Taken::kChange || taken == Taken::kRefused) && !Persist()) {
    // Not written, so not taken in: the rank says it again after a reconnect.
    *state = before;
    peer->Close();
    return OnClosed(peer);
  }
  if (taken == Taken::kProgress) PersistSoon();
  if (message.seq != 0) peer->Send(Dump({{"type", "ack"}, {"seq", state->seq}}));
  if (taken == Taken::kChange) options_.on_news(RankNews::kChange);
  if (taken == Taken::kProgress) options_.on_news(RankNews::kProgress);
}

void TaskSocket::SetInterrupt(const Interrupt& interrupt) {
  interrupt_ = interrupt;
  const auto peers = peers_;  // a peer that fails removes itself
  for (const auto& [rank, peer] : peers) Tell(*peer);
}

void TaskSocket::Tell(Peer& peer) {
  if (!interrupt_) return;
  const Interrupt& interrupt = *interrupt_;
  if (interrupt.withdrawn) return peer.Send(Dump({{"type", "withdrawn"}, {"agreement", interrupt.agreement}}));
  const std::int64_t left = std::max<std::int64_t>(0, (interrupt.deadline - options_.now()).ms);
  peer.Send(Dump({{"type", "interrupt"},
                  {"agreement", interrupt.agreement},
                  {"reason", interrupt.reason},
                  {"preemptor", interrupt.preemptor},
                  {"grace_left_ms", left}}));
  if (interrupt.no_agreement) {
    peer.Send(Dump({{"type", "stop_now"}, {"agreement", interrupt.agreement}}));
  } else if (interrupt.stop_step >= 0) {
    peer.Send(Dump({{"type", "stop_at"}, {"agreement", interrupt.agreement}, {"step", interrupt.stop_step}}));
  }
}

bool TaskSocket::Persist() {
  persist_pending_ = false;
  const Status status = spare_.Write(options_.state_path, SealObject(ToJson(ranks_)), Durability::kProcess);
  (void)spare_.Take();
  if (!status.ok()) LogError("event=ranks_not_written task={} error=\"{}\"", options_.task, status.message());
  return status.ok();
}

// The file's time is when a rank last said something (NodeTasks::ActivityOf), and not when that was written down: one
// step would be two signs of life.
void TaskSocket::PersistLate() {
  struct stat said {};
  const bool known = ::stat(options_.state_path.c_str(), &said) == 0;
  if (!Persist() || !known) return;
  const timespec times[2] = {said.st_atim, said.st_mtim};
  (void)::utimensat(AT_FDCWD, options_.state_path.c_str(), times, 0);
}

void TaskSocket::PersistSoon() {
  (void)::utimensat(AT_FDCWD, options_.state_path.c_str(), nullptr, 0);
  if (persist_pending_) return;
  persist_pending_ = true;
  persist_timer_.expires_after(kPersistProgress);
  persist_timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (!error && self->persist_pending_) self->PersistLate();
  });
}

}  // namespace glim::nodeagent
