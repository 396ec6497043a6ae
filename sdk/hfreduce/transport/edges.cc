#include "sdk/hfreduce/transport/edges.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <optional>
#include <string_view>

#include "sdk/hfreduce/rendezvous/proof.h"
#include "sdk/hfreduce/transport/hello.h"
#include "sdk/net/framed_stream.h"
#include "sdk/net/socket.h"

namespace glim::hfreduce {
namespace {

constexpr Duration kRetry = Milliseconds(20);
constexpr std::size_t kStrangersMax = 128;       // connections that have not said hello
constexpr Duration kMoment = Milliseconds(250);  // that each of them has before it makes room for a newcomer

std::string StoreKey(const TransportOptions& options, NodeIndex node) {
  return "edge/" + options.id + "/" + std::to_string(node);
}

std::string NodeText(NodeIndex node) { return "node " + std::to_string(node); }

Status SetOption(int socket, int level, int name, int value, const char* what) {
  if (::setsockopt(socket, level, name, &value, sizeof value) == 0) return Status::Ok();
  return {StatusCode::kUnavailable, std::string("cannot set ") + what + ": " + net::ErrnoText(errno)};
}

// Before connect and listen: what the peer is told of the window depends on the buffers.
Status SetOptions(const TransportOptions& options, int socket) {
  const auto timeout_ms = static_cast<int>(options.peer_timeout.ms);
  const int probe_s = std::max(1, timeout_ms / 4000);
  const struct {
    int level, name, value;
    const char* what;
  } wanted[] = {
      {IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"},
      {IPPROTO_TCP, TCP_USER_TIMEOUT, timeout_ms, "TCP_USER_TIMEOUT"},
      {SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"},
      {IPPROTO_TCP, TCP_KEEPIDLE, probe_s, "TCP_KEEPIDLE"},
      {IPPROTO_TCP, TCP_KEEPINTVL, probe_s, "TCP_KEEPINTVL"},
      {IPPROTO_TCP, TCP_KEEPCNT, 3, "TCP_KEEPCNT"},
      {SOL_SOCKET, SO_SNDBUF, options.socket_buffer_bytes, "SO_SNDBUF"},
      {SOL_SOCKET, SO_RCVBUF, options.socket_buffer_bytes, "SO_RCVBUF"},
  };
  for (const auto& option : wanted) {
    if (option.level == SOL_SOCKET && option.name != SO_KEEPALIVE && option.value == 0) continue;
    if (Status set = SetOption(socket, option.level, option.name, option.value, option.what); !set.ok()) return set;
  }
  if (options.congestion.empty()) return Status::Ok();
  if (::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, options.congestion.data(),
                   static_cast<socklen_t>(options.congestion.size())) == 0) {
    return Status::Ok();
  }
  return InvalidArgument(
      "congestion", "this kernel has no TCP congestion control '" + options.congestion + "': " + net::ErrnoText(errno),
      "see /proc/sys/net/ipv4/tcp_available_congestion_control");
}

enum class Read { kWhole, kPartial, kEnded };

// Never read past the hello: what follows is the transport's. What comes before it, a proof's parts, is shorter, and
// whoever says one waits for the answer.
static_assert(kAskBytes <= kHelloBytes && kAnswerBytes <= kHelloBytes && kProofBytes <= kHelloBytes);
constexpr net::FramedStream::Bounds kHelloBounds{.input = kHelloBytes, .output = kProofBytes + kHelloBytes};

// Whole, and no hello: somebody else's protocol.
Read Hear(net::FramedStream& stream, std::optional<Hello>* hello) {
  const Status read = stream.Read();
  const std::string& text = stream.input();
  if (text.size() < kHelloBytes) return read.ok() ? Read::kPartial : Read::kEnded;
  *hello = DecodeHello(std::span<const std::byte, kHelloBytes>(std::as_bytes(std::span(text))));
  return Read::kWhole;
}

// A fresh socket takes so few bytes at once; one that does not is given up, as if the connection had ended.
bool Say(net::FramedStream& stream, std::string_view text) {
  return stream.Send(text).ok() && !stream.wants_to_write();
}

bool Say(net::FramedStream& stream, const Hello& hello) {
  const HelloBytes bytes = Encode(hello);
  return Say(stream, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// A peer with a higher index, to whom this node connects.
struct Outgoing {
  NodeIndex peer = 0;
  net::SocketAddress address;
  net::FramedStream stream;
  bool connected = false;
  std::optional<Prover> prover;  // until the peer has shown that it has the secret
  std::optional<net::Deadline> retry;
  std::string trouble;  // of the last attempt
};

struct Incoming {
  net::FramedStream stream;
  Examiner examiner;
  bool proven = false;
  net::Deadline moment;
};

class EdgeConnector {
 public:
  EdgeConnector(const TransportOptions& options, NodeIndex self, std::span<const NodeIndex> peers)
      : options_(options), self_(self) {
    for (const NodeIndex peer : peers) edges_.push_back({peer, UniqueFd()});
  }

  Result<std::vector<Edge>> Run(Store& store, const net::Deadline& deadline);

 private:
  Status Publish(Store& store);
  Status FindHigherPeers(Store& store, const net::Deadline& deadline);
  Status Step(const net::Deadline& deadline);
  Status Advance(Outgoing& out, bool ready);
  void SayHello(Outgoing& out);
  void HearProof(Outgoing& out);
  Status HearAnswer(Outgoing& out);
  void GiveUp(Outgoing& out, std::string why);
  bool HasRoom() const;
  void AcceptAll();
  // True: done with it.
  bool HearProof(Incoming& in);
  bool HearHello(Incoming& in);
  Verdict Judge(const Hello& hello) const;
  Edge* Find(NodeIndex peer);
  bool Complete() const {
    return std::all_of(edges_.begin(), edges_.end(), [](const Edge& edge) { return bool{edge.socket}; });
  }
  Status Missing() const;

  const TransportOptions& options_;
  const NodeIndex self_;
  UniqueFd listener_;
  std::vector<Edge> edges_;
  std::list<Outgoing> outgoing_;
  std::list<Incoming> incoming_;  // the oldest first
  int turned_away_ = 0;           // that did not prove to have the secret
};

Edge* EdgeConnector::Find(NodeIndex peer) {
  const auto it = std::find_if(edges_.begin(), edges_.end(), [peer](const Edge& edge) { return edge.peer == peer; });
  return it == edges_.end() ? nullptr : &*it;
}

Status EdgeConnector::Publish(Store& store) {
  Result<net::SocketAddress> address = net::ResolveAddress(options_.listen_address, 0);
  if (!address.ok() || address->IsAny()) {
    return InvalidArgument(
        "listen_address",
        address.ok() ? "peers cannot connect to " + options_.listen_address : address.status().message(),
        "give an address of this node that its peers reach");
  }
  Result<UniqueFd> listener = net::Listen(*address);
  if (!listener.ok()) return listener.status();
  listener_ = std::move(*listener);
  if (Status set = SetOptions(options_, listener_.get()); !set.ok()) return set;
  Result<net::SocketAddress> bound = net::LocalAddress(listener_.get());
  if (!bound.ok()) return bound.status();
  Status written = store.Set(StoreKey(options_, self_), bound->ToString());
  if (written.code() == StatusCode::kAlreadyExists) {
    return {StatusCode::kAlreadyExists,
            "two processes say that they are " + NodeText(self_) + " of communicator " + options_.id};
  }
  return written;
}

// While this waits, lower peers connect: the kernel holds their connections until they are accepted.
Status EdgeConnector::FindHigherPeers(Store& store, const net::Deadline& deadline) {
  for (const Edge& edge : edges_) {
    if (edge.peer < self_) continue;
    Result<std::string> text = store.Get(StoreKey(options_, edge.peer), deadline.Remaining());
    if (!text.ok()) {
      return {text.status().code(), NodeText(edge.peer) + " has not said where it listens: " + text.status().message()};
    }
    Result<net::SocketAddress> address = net::ParseAddress(*text);
    if (!address.ok()) {
      return {StatusCode::kFailedPrecondition, NodeText(edge.peer) + ": " + address.status().message()};
    }
    outgoing_.emplace_back();
    outgoing_.back().peer = edge.peer;
    outgoing_.back().address = *address;
  }
  return Status::Ok();
}

void EdgeConnector::GiveUp(Outgoing& out, std::string why) {
  out.stream = {};
  out.connected = false;
  out.prover.reset();
  out.retry.emplace(kRetry);
  out.trouble = std::move(why);
}

Status EdgeConnector::Advance(Outgoing& out, bool ready) {
  if (!out.stream) {
    if (out.retry.has_value() && !out.retry->Passed()) return Status::Ok();
    Result<UniqueFd> socket = net::StartConnect(out.address);
    if (!socket.ok()) {
      GiveUp(out, socket.status().message());
      return Status::Ok();
    }
    out.stream = net::FramedStream(std::move(*socket), kHelloBounds);
    return SetOptions(options_, out.stream.descriptor());
  }
  if (!ready) return Status::Ok();
  if (out.prover.has_value()) {
    HearProof(out);
    return Status::Ok();
  }
  if (out.connected) return HearAnswer(out);
  if (const int error = net::ConnectError(out.stream.descriptor()); error != 0) {
    GiveUp(out, "cannot connect to " + out.address.ToString() + ": " + net::ErrnoText(error));
  } else if (!options_.secret) {
    SayHello(out);
  } else {
    out.connected = true;
    out.prover.emplace(options_.secret, ProofParties{ProofFor::kEdge, self_, out.peer});
    if (!Say(out.stream, out.prover->ask())) GiveUp(out, "it ended the connection");
  }
  return Status::Ok();
}

void EdgeConnector::SayHello(Outgoing& out) {
  out.connected =
      Say(out.stream, Hello{kWireVersion, options_.kind, false, Verdict::kAccepted, self_, out.peer, options_.id});
  if (!out.connected) GiveUp(out, "it ended the connection");
}

// What does not show that it has the secret is not the peer: that one may still come to this address.
void EdgeConnector::HearProof(Outgoing& out) {
  const Status read = out.stream.Read();
  const ProofStep step = out.prover->Hear(out.stream.input());
  if (step == ProofStep::kRefused) return GiveUp(out, out.prover->why());
  if (step == ProofStep::kPartial) {
    if (!read.ok()) GiveUp(out, "it ended the connection");
    return;
  }
  const std::string proof = out.prover->proof();
  out.prover.reset();
  if (!Say(out.stream, proof)) return GiveUp(out, "it ended the connection");
  SayHello(out);
}

Status EdgeConnector::HearAnswer(Outgoing& out) {
  std::optional<Hello> answer;
  const Read read = Hear(out.stream, &answer);
  if (read == Read::kPartial) return Status::Ok();
  if (read == Read::kEnded || !answer.has_value() || !answer->is_answer) {
    GiveUp(out, read == Read::kEnded ? "it ended the connection" : "it does not speak this protocol");
    return Status::Ok();
  }
  if (answer->verdict != Verdict::kAccepted) {
    return {StatusCode::kFailedPrecondition, NodeText(out.peer) + " at " + out.address.ToString() + " refused " +
                                                 NodeText(self_) + ": " + std::string(TextOf(answer->verdict))};
  }
  if (answer->id != options_.id || answer->from != out.peer || answer->to != self_) {
    GiveUp(out, "somebody else answered");
    return Status::Ok();
  }
  Find(out.peer)->socket = out.stream.Release();
  return Status::Ok();
}

bool EdgeConnector::HasRoom() const { return incoming_.size() < kStrangersMax || incoming_.front().moment.Passed(); }

// The oldest silent one makes room when it has had its moment: a peer that was one of them comes again. Until then
// newcomers wait with the kernel.
void EdgeConnector::AcceptAll() {
  while (HasRoom()) {
    UniqueFd socket = net::Accept(listener_.get());
    if (!socket) return;
    if (incoming_.size() >= kStrangersMax) incoming_.pop_front();
    incoming_.push_back({net::FramedStream(std::move(socket), kHelloBounds),
                         Examiner(options_.secret, ProofFor::kEdge, self_), false, net::Deadline(kMoment)});
  }
}

bool EdgeConnector::HearProof(Incoming& in) {
  const Status read = in.stream.Read();
  std::string reply;
  const bool had_asked = in.examiner.has_asked();
  const ProofStep step = in.examiner.Hear(in.stream.input(), &reply);
  if (!reply.empty() && !Say(in.stream, reply)) return true;
  in.proven = step == ProofStep::kProven;
  if (in.proven || (step == ProofStep::kPartial && read.ok())) return false;
  if (had_asked) ++turned_away_;
  std::optional<Hello> hello;
  if (in.examiner.spoke_plainly() && Hear(in.stream, &hello) == Read::kWhole && hello.has_value()) {
    ++turned_away_;
    (void)Say(in.stream, Hello{kWireVersion, options_.kind, true, Verdict::kWithoutSecret, self_, hello->from, ""});
  }
  return true;
}

Verdict EdgeConnector::Judge(const Hello& hello) const {
  if (hello.version != kWireVersion) return Verdict::kOtherVersion;
  if (hello.id != options_.id) return Verdict::kOtherId;
  if (hello.transport != options_.kind) return Verdict::kOtherTransport;
  const bool known = std::any_of(edges_.begin(), edges_.end(), [&](const Edge& e) { return e.peer == hello.from; });
  return hello.to == self_ && hello.from < self_ && known ? Verdict::kAccepted : Verdict::kUnexpectedNode;
}

bool EdgeConnector::HearHello(Incoming& in) {
  if (!in.proven) {
    if (HearProof(in)) return true;
    if (!in.proven) return false;
  }
  std::optional<Hello> hello;
  if (Hear(in.stream, &hello) == Read::kPartial) return false;
  if (!hello.has_value() || hello->is_answer) return true;
  if (options_.secret && hello->from != in.examiner.parties().from) return true;
  const Verdict verdict = Judge(*hello);
  const bool accepted = verdict == Verdict::kAccepted;
  const bool said = Say(in.stream, Hello{kWireVersion, options_.kind, true, verdict, self_, hello->from,
                                         accepted ? options_.id : std::string()});
  // A peer that comes twice has given its first connection up.
  if (accepted && said && SetOptions(options_, in.stream.descriptor()).ok()) {
    Find(hello->from)->socket = in.stream.Release();
  }
  return true;
}

Status EdgeConnector::Step(const net::Deadline& deadline) {
  std::vector<pollfd> polled{{HasRoom() ? listener_.get() : -1, POLLIN, 0}};
  for (const Outgoing& out : outgoing_) {
    polled.push_back({out.stream.descriptor(), static_cast<short>(out.connected ? POLLIN : POLLOUT), 0});
  }
  for (const Incoming& in : incoming_) polled.push_back({in.stream.descriptor(), POLLIN, 0});
  ::poll(polled.data(), polled.size(), deadline.PollTimeout(kRetry));
  std::size_t i = 1;
  for (Outgoing& out : outgoing_) {
    if (Status advanced = Advance(out, polled[i++].revents != 0); !advanced.ok()) return advanced;
  }
  for (auto in = incoming_.begin(); in != incoming_.end();) {
    in = polled[i++].revents != 0 && HearHello(*in) ? incoming_.erase(in) : std::next(in);
  }
  outgoing_.remove_if([this](const Outgoing& out) { return bool{Find(out.peer)->socket}; });
  AcceptAll();
  return Status::Ok();
}

Status EdgeConnector::Missing() const {
  std::string text;
  for (const Edge& edge : edges_) {
    if (edge.socket) continue;
    text += (text.empty() ? "" : ", ") + NodeText(edge.peer);
    const auto out =
        std::find_if(outgoing_.begin(), outgoing_.end(), [&](const Outgoing& o) { return o.peer == edge.peer; });
    if (out != outgoing_.end() && !out->trouble.empty()) text += " (" + out->trouble + ")";
  }
  if (turned_away_ > 0) {
    text += "; " + std::to_string(turned_away_) + " connections did not prove that they have the attempt's secret";
  }
  return {StatusCode::kDeadlineExceeded, NodeText(self_) + " is still without " + text};
}

Result<std::vector<Edge>> EdgeConnector::Run(Store& store, const net::Deadline& deadline) {
  if (Status published = Publish(store); !published.ok()) return published;
  if (Status found = FindHigherPeers(store, deadline); !found.ok()) return found;
  for (Outgoing& out : outgoing_) {
    if (Status started = Advance(out, false); !started.ok()) return started;
  }
  while (!Complete()) {
    if (deadline.Passed()) return Missing();
    if (Status stepped = Step(deadline); !stepped.ok()) return stepped;
  }
  return std::move(edges_);
}

}  // namespace

Result<std::vector<Edge>> ConnectEdges(const TransportOptions& options, NodeIndex self,
                                       std::span<const NodeIndex> peers, Store& store, const net::Deadline& deadline) {
  return EdgeConnector(options, self, peers).Run(store, deadline);
}

}  // namespace glim::hfreduce
