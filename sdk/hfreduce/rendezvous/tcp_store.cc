#include "sdk/hfreduce/rendezvous/tcp_store.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "sdk/hfreduce/rendezvous/store_message.h"
#include "sdk/hfreduce/rendezvous/tcp_store_server.h"

namespace glim::hfreduce {
namespace {

constexpr Duration kRetryFirst = Milliseconds(5);
constexpr Duration kRetryMost = Milliseconds(200);
constexpr Duration kWaitMost = Hours(24);
constexpr Duration kAnswerTime = Seconds(1);  // for the server to say that nobody wrote a key

// False: the deadline passed.
bool AwaitReady(int socket, short events, const Deadline& deadline) {
  pollfd polled{socket, events, 0};
  while (!deadline.Passed()) {
    if (::poll(&polled, 1, deadline.PollTimeout(Seconds(1))) > 0) return true;
  }
  return false;
}

// One try. UNAVAILABLE: nobody listens, or the connection ended before the answer was whole.
Result<StoreMessage> CallOnce(const SocketAddress& address, const std::string& request, const Deadline& deadline) {
  const auto unavailable = [&](const std::string& why) {
    return Status(StatusCode::kUnavailable, "the store at " + address.ToString() + ": " + why);
  };
  Result<UniqueFd> socket = StartConnect(address);
  if (!socket.ok()) return socket.status();
  if (!AwaitReady(socket->get(), POLLOUT, deadline)) return unavailable("no connection in time");
  if (const int error = ConnectError(socket->get()); error != 0) return unavailable(ErrnoText(error));
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t n = ::send(socket->get(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && !WouldBlock(errno)) return unavailable(ErrnoText(errno));
    if (n > 0) sent += static_cast<std::size_t>(n);
    if (n < 0 && !AwaitReady(socket->get(), POLLOUT, deadline)) return unavailable("it does not read");
  }
  std::string text;
  char buffer[4096];
  for (;;) {
    if (!AwaitReady(socket->get(), POLLIN, deadline)) return unavailable("no answer in time");
    const ssize_t n = ::recv(socket->get(), buffer, sizeof buffer, 0);
    if (n < 0 && WouldBlock(errno)) continue;
    if (n <= 0) return unavailable(n == 0 ? "it ended the connection" : ErrnoText(errno));
    text.append(buffer, static_cast<std::size_t>(n));
    StoreMessage answer;
    const StoreParse parse = Parse(text, &answer);
    if (parse == StoreParse::kRefused)
      return Status(StatusCode::kFailedPrecondition, "what listens at " + address.ToString() + " is not the store");
    if (parse == StoreParse::kWhole) return answer;
  }
}

// Requests may be repeated: a key that is set twice to one value is set. A Get waits until `wait`.
Result<StoreMessage> Call(const SocketAddress& address, StoreMessage message, const Deadline& wait,
                          const Deadline& deadline) {
  Duration retry = kRetryFirst;
  for (;;) {
    message.wait_ms = static_cast<std::uint32_t>(std::min(wait.Remaining(), kWaitMost).ms);
    Result<StoreMessage> answer = CallOnce(address, Encode(message), deadline);
    if (answer.ok() || answer.status().code() != StatusCode::kUnavailable || deadline.Passed()) return answer;
    ::poll(nullptr, 0, deadline.PollTimeout(retry));
    retry = std::min(retry * 2, kRetryMost);
  }
}

Status CheckKey(const std::string& key) {
  if (!key.empty() && key.size() <= kStoreKeyBytesMax) return Status::Ok();
  return InvalidArgument("key", "a key has 1 to " + std::to_string(kStoreKeyBytesMax) + " bytes");
}

}  // namespace

Result<std::unique_ptr<TcpStore>> TcpStore::Create(const TcpStoreOptions& options) {
  Result<SocketAddress> address = ResolveAddress(options.host, options.port);
  if (!address.ok()) return address.status();
  if (!options.serve && options.port == 0) return InvalidArgument("port", "a client has to know the store's port");
  std::unique_ptr<TcpStore> store(new TcpStore);
  store->timeout_ = options.timeout;
  store->address_ = *address;
  store->port_ = options.port;
  if (!options.serve) return store;
  Result<UniqueFd> listener = Listen(*address);
  if (!listener.ok()) return listener.status();
  Result<SocketAddress> bound = LocalAddress(listener->get());
  if (!bound.ok()) return bound.status();
  store->address_ = *bound;
  store->port_ =
      ntohs(bound->storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound->storage)->sin6_port
                                                 : reinterpret_cast<const sockaddr_in*>(&bound->storage)->sin_port);
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return Status(StatusCode::kUnavailable, "no eventfd: " + ErrnoText(errno));
  store->server_ = std::make_unique<Server>(std::move(*listener), std::move(stop));
  return store;
}

TcpStore::~TcpStore() = default;

Status TcpStore::Set(const std::string& key, const std::string& value) {
  if (Status checked = CheckKey(key); !checked.ok()) return checked;
  if (value.size() > kStoreValueBytesMax) {
    return InvalidArgument("value", "the value of '" + key + "' has " + std::to_string(value.size()) +
                                        " bytes; at most " + std::to_string(kStoreValueBytesMax) + " are allowed");
  }
  const Deadline deadline(timeout_);
  Result<StoreMessage> answer =
      Call(address_, {static_cast<std::uint8_t>(StoreRequest::kSet), 0, key, value}, deadline, deadline);
  if (!answer.ok()) return answer.status();
  switch (static_cast<StatusCode>(answer->kind)) {
    case StatusCode::kOk: return Status::Ok();
    case StatusCode::kAlreadyExists: return {StatusCode::kAlreadyExists, "key '" + key + "' has another value already"};
    default: return {StatusCode::kResourceExhausted, "the store has no room for key '" + key + "'"};
  }
}

Result<std::string> TcpStore::Get(const std::string& key, Duration timeout) {
  if (Status checked = CheckKey(key); !checked.ok()) return checked;
  Result<StoreMessage> answer = Call(address_, {static_cast<std::uint8_t>(StoreRequest::kGet), 0, key, {}},
                                     Deadline(timeout), Deadline(timeout + kAnswerTime));
  if (!answer.ok()) return answer.status();
  if (answer->kind == static_cast<std::uint8_t>(StatusCode::kOk)) return answer->value;
  return Status(StatusCode::kDeadlineExceeded,
                "nobody wrote key '" + key + "' within " + std::to_string(timeout.ms) + " ms");
}

}  // namespace glim::hfreduce
