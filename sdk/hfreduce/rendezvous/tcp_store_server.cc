#include "sdk/hfreduce/rendezvous/tcp_store_server.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace glim::hfreduce {
namespace {

constexpr Duration kTimeToAsk = Seconds(10);
constexpr Duration kTick = Milliseconds(50);  // how late a deadline may be seen

}  // namespace

TcpStore::Server::Server(UniqueFd listener, UniqueFd stop)
    : listener_(std::move(listener)), stop_(std::move(stop)), thread_([this] { Loop(); }) {}

TcpStore::Server::~Server() {
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void TcpStore::Server::Loop() {
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign({{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
    for (const Caller& caller : callers_) {
      polled.push_back({caller.socket.get(), static_cast<short>(caller.out.empty() ? POLLIN : POLLOUT), 0});
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

void TcpStore::Server::AcceptAll() {
  while (callers_.size() < kStoreConnectionsMax) {
    UniqueFd socket = Accept(listener_.get());
    if (!socket) return;
    callers_.push_back({std::move(socket), {}, {}, {}, Deadline(kTimeToAsk)});
  }
}

bool TcpStore::Server::Serve(Caller& caller, bool ready) {
  if (ready && !caller.out.empty()) return Write(caller);
  if (ready && Hear(caller)) return true;
  if (caller.waits_for.has_value() && caller.out.empty()) {
    if (const auto it = values_.find(*caller.waits_for); it != values_.end()) {
      return Answer(caller, StatusCode::kOk, it->second);
    }
    if (caller.deadline.Passed()) return Answer(caller, StatusCode::kDeadlineExceeded, "");
  }
  return caller.deadline.Passed();
}

bool TcpStore::Server::Hear(Caller& caller) {
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::recv(caller.socket.get(), buffer, sizeof buffer, 0);
    if (n < 0 && WouldBlock(errno)) return false;
    // A caller that waits says nothing more: its end, or a second request.
    if (n <= 0 || caller.waits_for.has_value()) return true;
    caller.in.append(buffer, static_cast<std::size_t>(n));
    StoreMessage request;
    const StoreParse parse = Parse(caller.in, &request);
    if (parse == StoreParse::kRefused) return true;
    if (parse == StoreParse::kWhole) return Execute(caller, request);
  }
}

bool TcpStore::Server::Execute(Caller& caller, const StoreMessage& request) {
  if (request.kind == static_cast<std::uint8_t>(StoreRequest::kSet)) return Set(caller, request);
  if (request.kind != static_cast<std::uint8_t>(StoreRequest::kGet)) return true;
  caller.waits_for = request.key;
  caller.deadline = Deadline(Milliseconds(request.wait_ms));
  return false;
}

bool TcpStore::Server::Set(Caller& caller, const StoreMessage& request) {
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

bool TcpStore::Server::Answer(Caller& caller, StatusCode code, const std::string& value) {
  caller.out = Encode({static_cast<std::uint8_t>(code), 0, {}, value});
  caller.deadline = Deadline(kTimeToAsk);
  return Write(caller);
}

bool TcpStore::Server::Write(Caller& caller) {
  const ssize_t n = ::send(caller.socket.get(), caller.out.data(), caller.out.size(), MSG_NOSIGNAL);
  if (n < 0) return !WouldBlock(errno);
  caller.out.erase(0, static_cast<std::size_t>(n));
  return caller.out.empty();
}

}  // namespace glim::hfreduce
