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
constexpr Duration kTick = Milliseconds(50);  // how late a deadline may be seen

}  // namespace

Result<std::unique_ptr<TcpStoreServer>> TcpStoreServer::Create(const net::SocketAddress& listen) {
  Result<UniqueFd> listener = net::Listen(listen);
  if (!listener.ok()) return listener.status();
  Result<net::SocketAddress> bound = net::LocalAddress(listener->get());
  if (!bound.ok()) return bound.status();
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return Status(StatusCode::kUnavailable, "no eventfd: " + net::ErrnoText(errno));
  return std::unique_ptr<TcpStoreServer>(new TcpStoreServer(std::move(*listener), std::move(stop), *bound));
}

TcpStoreServer::TcpStoreServer(UniqueFd listener, UniqueFd stop, const net::SocketAddress& address)
    : listener_(std::move(listener)), stop_(std::move(stop)), address_(address), thread_([this] { Loop(); }) {}

TcpStoreServer::~TcpStoreServer() {
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void TcpStoreServer::Loop() {
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign({{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
    for (const Caller& caller : callers_) {
      const bool answers = caller.stream.wants_to_write();
      polled.push_back({caller.stream.descriptor(), static_cast<short>(answers ? POLLOUT : POLLIN), 0});
    }
    // Callers that wait for a key that was just written are told at once.
    const int wait_ms = std::exchange(written_, false) ? 0 : callers_.empty() ? -1 : static_cast<int>(kTick.ms);
    ::poll(polled.data(), polled.size(), wait_ms);
    if (polled[0].revents != 0) return;
    std::size_t i = 2;
    for (auto caller = callers_.begin(); caller != callers_.end();) {
      caller = Serve(*caller, polled[i++].revents != 0) ? callers_.erase(caller) : std::next(caller);
    }
    AcceptAll();
  }
}

void TcpStoreServer::AcceptAll() {
  while (callers_.size() < kStoreConnectionsMax) {
    UniqueFd socket = net::Accept(listener_.get());
    if (!socket) return;
    callers_.push_back({net::FramedStream(std::move(socket), kStoreBounds), {}, net::Deadline(kTimeToAsk)});
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
    if (caller.deadline.Passed()) return Answer(caller, StatusCode::kDeadlineExceeded, "");
  }
  return caller.deadline.Passed();
}

bool TcpStoreServer::Hear(Caller& caller) {
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
