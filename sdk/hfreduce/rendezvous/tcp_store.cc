#include "sdk/hfreduce/rendezvous/tcp_store.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "sdk/hfreduce/rendezvous/proof.h"
#include "sdk/hfreduce/rendezvous/store_message.h"
#include "sdk/hfreduce/rendezvous/tcp_store_server.h"
#include "sdk/net/backoff.h"
#include "sdk/net/framed_stream.h"
#include "sdk/net/socket.h"

namespace glim::hfreduce {
namespace {

constexpr Duration kRetryFirst = Milliseconds(5);
constexpr Duration kRetryMost = Milliseconds(200);
constexpr Duration kWaitMost = Hours(24);
constexpr char kNotProven[] = "NOT_PROVEN";
constexpr Duration kAnswerTime = Seconds(1);  // for the server to say that nobody wrote a key

// Errors: UNAVAILABLE.
Status SendAll(net::FramedStream& stream, const std::string& text, const net::Deadline& deadline) {
  Status sent = stream.Send(text);
  while (sent.ok() && stream.wants_to_write()) {
    if (!net::AwaitReady(stream.descriptor(), POLLOUT, deadline)) {
      return Status(StatusCode::kUnavailable, "it does not read");
    }
    sent = stream.Flush();
  }
  return sent;
}

// Both ends show that they have the secret. Errors: UNAVAILABLE.
Status Prove(net::FramedStream& stream, const Secret& secret, const net::Deadline& deadline) {
  Prover prover(secret, {.what = ProofFor::kStore});
  if (Status asked = SendAll(stream, prover.ask(), deadline); !asked.ok()) return asked;
  for (;;) {
    if (!net::AwaitReady(stream.descriptor(), POLLIN, deadline)) {
      return Status(StatusCode::kUnavailable, "it has not shown in time that it has the attempt's secret");
    }
    const Status read = stream.Read();
    const ProofStep step = prover.Hear(stream.input());
    if (step == ProofStep::kProven) return SendAll(stream, prover.proof(), deadline);
    if (step == ProofStep::kRefused) return Status(StatusCode::kUnavailable, prover.why()).WithReason(kNotProven);
    if (!read.ok()) return read;
  }
}

// One try. UNAVAILABLE: nobody listens, or the connection ended before the answer was whole.
Result<StoreMessage> CallOnce(const net::SocketAddress& address, const Secret& secret, const std::string& request,
                              const net::Deadline& deadline) {
  const auto unavailable = [&](const std::string& why) {
    return Status(StatusCode::kUnavailable, "the store at " + address.ToString() + ": " + why);
  };
  Result<UniqueFd> socket = net::StartConnect(address);
  if (!socket.ok()) return socket.status();
  const int descriptor = socket->get();
  if (!net::AwaitReady(descriptor, POLLOUT, deadline)) return unavailable("no connection in time");
  if (const int error = net::ConnectError(descriptor); error != 0) return unavailable(net::ErrnoText(error));
  net::FramedStream stream(std::move(*socket), kStoreBounds);
  if (secret) {
    if (Status proven = Prove(stream, secret, deadline); !proven.ok()) {
      return unavailable(proven.message()).WithReason(proven.reason());
    }
  }
  if (Status sent = SendAll(stream, request, deadline); !sent.ok()) return unavailable(sent.message());
  for (;;) {
    if (!net::AwaitReady(descriptor, POLLIN, deadline)) return unavailable("no answer in time");
    const Status read = stream.Read();
    StoreMessage answer;
    const StoreParse parse = Parse(stream.input(), &answer);
    if (parse == StoreParse::kWhole) return answer;
    if (parse == StoreParse::kRefused) {
      return Status(StatusCode::kFailedPrecondition, "what listens at " + address.ToString() + " is not the store");
    }
    if (!read.ok()) return unavailable(read.message());
  }
}

// Requests may be repeated: a key that is set twice to one value is set. A Get waits until `wait`.
Result<StoreMessage> Call(const net::SocketAddress& address, const Secret& secret, StoreMessage message,
                          const net::Deadline& wait, const net::Deadline& deadline) {
  net::Backoff retry(kRetryFirst, kRetryMost);
  Status not_proven;  // what was shown in the server's place says more than the last try, which had no time
  for (;;) {
    message.wait_ms = static_cast<std::uint32_t>(std::min(wait.Remaining(), kWaitMost).ms);
    Result<StoreMessage> answer = CallOnce(address, secret, Encode(message), deadline);
    if (answer.ok() && answer->kind == static_cast<std::uint8_t>(StatusCode::kUnauthenticated)) {
      return Status(StatusCode::kUnauthenticated,
                    "the store at " + address.ToString() + " asks for the attempt's secret, and this process has none")
          .WithFix("name its file in GLIM_ATTEMPT_SECRET_FILE on every rank, or on none");
    }
    if (answer.ok() || answer.status().code() != StatusCode::kUnavailable) return answer;
    if (answer.status().reason() == kNotProven) not_proven = answer.status();
    if (deadline.Passed()) return not_proven.ok() ? answer.status() : not_proven;
    ::poll(nullptr, 0, deadline.PollTimeout(retry.Next()));
  }
}

Status CheckKey(const std::string& key) {
  if (!key.empty() && key.size() <= kStoreKeyBytesMax) return Status::Ok();
  return InvalidArgument("key", "a key has 1 to " + std::to_string(kStoreKeyBytesMax) + " bytes");
}

}  // namespace

Result<std::unique_ptr<TcpStore>> TcpStore::Create(const TcpStoreOptions& options) {
  Result<net::SocketAddress> address = net::ResolveAddress(options.host, options.port);
  if (!address.ok()) return address.status();
  if (!options.serve && options.port == 0) return InvalidArgument("port", "a client has to know the store's port");
  std::unique_ptr<TcpStore> store(new TcpStore);
  store->timeout_ = options.timeout;
  store->secret_ = options.secret;
  store->address_ = *address;
  if (!options.serve) return store;
  Result<std::unique_ptr<TcpStoreServer>> server = TcpStoreServer::Create(*address, options.secret);
  if (!server.ok()) return server.status();
  store->server_ = std::move(*server);
  store->address_ = store->server_->address();
  return store;
}

TcpStore::TcpStore() = default;
TcpStore::~TcpStore() = default;

Status TcpStore::Set(const std::string& key, const std::string& value) {
  if (Status checked = CheckKey(key); !checked.ok()) return checked;
  if (value.size() > kStoreValueBytesMax) {
    return InvalidArgument("value", "the value of '" + key + "' has " + std::to_string(value.size()) +
                                        " bytes; at most " + std::to_string(kStoreValueBytesMax) + " are allowed");
  }
  const net::Deadline deadline(timeout_);
  Result<StoreMessage> answer =
      Call(address_, secret_, {static_cast<std::uint8_t>(StoreRequest::kSet), 0, key, value}, deadline, deadline);
  if (!answer.ok()) return answer.status();
  switch (static_cast<StatusCode>(answer->kind)) {
    case StatusCode::kOk: return Status::Ok();
    case StatusCode::kAlreadyExists: return {StatusCode::kAlreadyExists, "key '" + key + "' has another value already"};
    default: return {StatusCode::kResourceExhausted, "the store has no room for key '" + key + "'"};
  }
}

Result<std::string> TcpStore::Get(const std::string& key, Duration timeout) {
  if (Status checked = CheckKey(key); !checked.ok()) return checked;
  Result<StoreMessage> answer = Call(address_, secret_, {static_cast<std::uint8_t>(StoreRequest::kGet), 0, key, {}},
                                     net::Deadline(timeout), net::Deadline(timeout + kAnswerTime));
  if (!answer.ok()) return answer.status();
  if (answer->kind == static_cast<std::uint8_t>(StatusCode::kOk)) return answer->value;
  return Status(StatusCode::kDeadlineExceeded, "nobody wrote key '" + key + "' within " + std::to_string(timeout.ms) +
                                                   " ms" + (answer->value.empty() ? "" : "; " + answer->value));
}

}  // namespace glim::hfreduce
