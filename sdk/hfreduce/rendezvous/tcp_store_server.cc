#include "sdk/hfreduce/rendezvous/tcp_store_server.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "sdk/net/socket.h"

namespace glim::hfreduce {
namespace {

constexpr Duration kTimeToAsk = Seconds(10);
constexpr Duration kMoment = Milliseconds(250);
constexpr Duration kTick = Milliseconds(50);  // how late a deadline may be seen
// What a stranger may say before it is known: a proof, and without a secret most requests.
constexpr net::FramedStream::Bounds kStrangersBounds{.input = 1024, .output = kAnswerBytes + kStoreMessageBytesMax};

}  // namespace

Result<std::unique_ptr<TcpStoreServer>> TcpStoreServer::Create(const net::SocketAddress& listen, const Secret& secret) {
  Result<UniqueFd> listener = net::Listen(listen);
  if (!listener.ok()) return listener.status();
  Result<net::SocketAddress> bound = net::LocalAddress(listener->get());
  if (!bound.ok()) return bound.status();
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return Status(StatusCode::kUnavailable, "no eventfd: " + net::ErrnoText(errno));
  return std::unique_ptr<TcpStoreServer>(new TcpStoreServer(std::move(*listener), std::move(stop), *bound, secret));
}

TcpStoreServer::TcpStoreServer(UniqueFd listener, UniqueFd stop, const net::SocketAddress& address,
                               const Secret& secret)
    : listener_(std::move(listener)), stop_(std::move(stop)), address_(address), secret_(secret), thread_([this] {
        Loop();
      }) {}

TcpStoreServer::~TcpStoreServer() {
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void TcpStoreServer::Loop() {
  std::vector<pollfd> polled;
  for (;;) {
    const bool accepts = HasRoom();
    polled.assign({{stop_.get(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}});
    for (const std::list<Caller>* callers : {&callers_, &strangers_}) {
      for (const Caller& caller : *callers) {
        const bool answers = caller.stream.wants_to_write();
        polled.push_back({caller.stream.descriptor(), static_cast<short>(answers ? POLLOUT : POLLIN), 0});
      }
    }
    // Callers that wait for a key that was just written are told at once.
    const bool idle = callers_.empty() && strangers_.empty() && accepts;
    const int wait_ms = std::exchange(written_, false) ? 0 : idle ? -1 : static_cast<int>(kTick.ms);
    ::poll(polled.data(), polled.size(), wait_ms);
    if (polled[0].revents != 0) return;
    std::size_t i = 2;
    for (auto caller = callers_.begin(); caller != callers_.end();) {
      caller = Serve(*caller, polled[i++].revents != 0) ? callers_.erase(caller) : std::next(caller);
    }
    for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
      const auto one = stranger++;
      if (Serve(*one, polled[i++].revents != 0)) {
        strangers_.erase(one);
      } else if (!one->IsStranger()) {
        callers_.splice(callers_.end(), strangers_, one);
      }
    }
    AcceptAll();
  }
}

bool TcpStoreServer::HasRoom() const {
  if (breather_.has_value() && !breather_->Passed()) return false;
  if (callers_.size() >= kStoreConnectionsMax) return false;
  return strangers_.size() < kStoreStrangersMax || strangers_.front().moment.Passed();
}

void TcpStoreServer::AcceptAll() {
  while (HasRoom()) {
    UniqueFd socket = net::Accept(listener_.get());
    if (!socket) {
      const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted) breather_.emplace(kTick);
      return;
    }
    if (strangers_.size() >= kStoreStrangersMax) strangers_.pop_front();
    strangers_.push_back({net::FramedStream(std::move(socket), kStrangersBounds),
                          Examiner(secret_, ProofFor::kStore, 0),
                          false,
                          {},
                          net::Deadline(kTimeToAsk),
                          net::Deadline(kMoment)});
  }
}

bool TcpStoreServer::Serve(Caller& caller, bool ready) {
  if (caller.stream.wants_to_write()) {
    if (!ready) return caller.deadline.Passed();
    return !caller.stream.Flush().ok() || !caller.stream.wants_to_write();
  }
  if (ready && Hear(caller)) return true;
  if (caller.waits_for.has_value() && !caller.stream.wants_to_write()) {
    if (const auto it = values_.find(*caller.waits_for); it != values_.end()) {
      return Answer(caller, StatusCode::kOk, it->second);
    }
    if (caller.deadline.Passed()) return Answer(caller, StatusCode::kDeadlineExceeded, TurnedAway());
  }
  return caller.deadline.Passed();
}

// Whoever has proven what there is to prove may say more than a stranger.
bool TcpStoreServer::HearProof(Caller& caller) {
  const Status read = caller.stream.Read();
  std::string& input = caller.stream.input();
  const bool had_asked = caller.examiner.has_asked();
  std::string reply;
  const ProofStep step = caller.examiner.Hear(input, &reply);
  if (!reply.empty() && (!caller.stream.Send(reply).ok() || caller.stream.wants_to_write())) return true;
  if (step == ProofStep::kPartial) {
    if (!read.ok() && had_asked) ++without_proof_;
    return !read.ok();
  }
  if (step == ProofStep::kRefused) {
    StoreMessage request;
    if (had_asked) {
      ++without_proof_;
    } else if (caller.examiner.spoke_plainly() && Parse(input, &request) != StoreParse::kRefused) {
      ++without_secret_;
      (void)Answer(caller, StatusCode::kUnauthenticated, "");
    }
    return true;
  }
  std::string rest = std::move(input);
  caller.stream = net::FramedStream(caller.stream.Release(), kStoreBounds);
  caller.stream.input() = std::move(rest);
  caller.proven = true;
  return false;
}

std::string TcpStoreServer::TurnedAway() const {
  std::string text;
  if (without_secret_ > 0) text = std::to_string(without_secret_) + " callers had no secret";
  if (without_proof_ > 0) {
    text += (text.empty() ? "" : ", ") + std::to_string(without_proof_) + " callers had another secret or left";
  }
  return text;
}

bool TcpStoreServer::Hear(Caller& caller) {
  if (!caller.proven) {
    if (HearProof(caller)) return true;
    if (!caller.proven) return false;
  }
  const Status read = caller.stream.Read();
  std::string& input = caller.stream.input();
  // A caller that waits says nothing more: what comes is its end, or a second request.
  if (caller.waits_for.has_value()) return !read.ok() || !input.empty();
  StoreMessage request;
  const StoreParse parse = Parse(input, &request);
  if (parse == StoreParse::kPartial) return !read.ok();
  if (parse == StoreParse::kRefused) return true;
  input.clear();
  return Execute(caller, request);
}

bool TcpStoreServer::Execute(Caller& caller, const StoreMessage& request) {
  if (request.kind == static_cast<std::uint8_t>(StoreRequest::kSet)) return Set(caller, request);
  if (request.kind != static_cast<std::uint8_t>(StoreRequest::kGet)) return true;
  caller.waits_for = request.key;
  caller.deadline = net::Deadline(Milliseconds(request.wait_ms));
  return false;
}

bool TcpStoreServer::Set(Caller& caller, const StoreMessage& request) {
  if (const auto it = values_.find(request.key); it != values_.end()) {
    return Answer(caller, it->second == request.value ? StatusCode::kOk : StatusCode::kAlreadyExists, "");
  }
  const std::size_t more = request.key.size() + request.value.size();
  if (bytes_ + more > kStoreBytesMax) return Answer(caller, StatusCode::kResourceExhausted, "");
  bytes_ += more;
  values_.emplace(request.key, request.value);
  written_ = true;
  return Answer(caller, StatusCode::kOk, "");
}

bool TcpStoreServer::Answer(Caller& caller, StatusCode code, const std::string& value) {
  caller.deadline = net::Deadline(kTimeToAsk);
  const Status sent = caller.stream.Send(Encode({static_cast<std::uint8_t>(code), 0, {}, value}));
  return !sent.ok() || !caller.stream.wants_to_write();
}

}  // namespace glim::hfreduce
