#include "sdk/checkpoint/replica/replica_service.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "sdk/checkpoint/replica/admission.h"
#include "sdk/checkpoint/replica/service_address.h"
#include "sdk/checkpoint/replica/service_strangers.h"
#include "sdk/checkpoint/replica/shared_region.h"
#include "sdk/io/random_bytes.h"
#include "sdk/net/rdma.h"
#include "sdk/net/socket.h"
#include "sdk/tokens/replica_token.h"

namespace glim::checkpoint {
namespace {

constexpr Duration kTick = Seconds(1);
// In epoll's data; connections are numbered from kFirstUser, their transfer processes have kTransferBit besides.
constexpr std::uint64_t kListenerEvent = 1;
constexpr std::uint64_t kStopEvent = 2;
constexpr std::uint64_t kFirstUser = 3;
constexpr std::uint64_t kTransferBit = std::uint64_t{1} << 63;

TimePoint Now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count() + 1};
}

Status BadTurn() { return {StatusCode::kInvalidArgument, "a message that is out of turn"}; }

class Service final : public ReplicaService {
 public:
  Service(const ReplicaServiceOptions& options, std::function<void(const std::string&)> log)
      : options_(options), log_(std::move(log)) {}

  Status Open();
  const ReplicaState& state() const override { return state_; }
  void Run() override;
  void Stop() override { (void)::eventfd_write(stop_.get(), 1); }

 private:
  using Connections = ServiceConnections;

  Status Watch(int descriptor, std::uint64_t event);
  void AcceptAll();
  void Hear(ServiceConnection& connection);
  void Tick(TimePoint now);
  void CloseEnding();
  void Close(Connections::iterator at);
  // Closes them at once: nothing of theirs is on its way any more when it returns.
  template <typename Which>
  void CloseWhere(const Status& why, const Which& which);

  // What is answered, or nothing yet: the transfer process is asked first. An error is sent as Refused, and ends the
  // connection unless it is a member's.
  using Reply = Result<std::optional<ControlMessage>>;
  void Say(ServiceConnection& to, const Reply& reply);
  Reply Handle(ServiceConnection& from, const ControlMessage& message);
  Reply Greet(ServiceConnection& from, const Hello& hello);
  Reply Admit(ServiceConnection& from, const Answer& answer);
  Status CheckFabric(const ReplicaClaims& claims, bool private_fabric) const;
  Status CheckBounds(const std::string& job) const;
  Reply Serve(ServiceConnection& from, const ControlMessage& message);
  Reply Place(ServiceConnection& from, const Reserve& reserve, TimePoint now);
  Status Map(ServiceConnection& from, const std::shared_ptr<Region>& region, ServiceConnection::Awaiting awaiting);
  void HearTransfer(ServiceConnection& connection);
  template <typename Which>
  std::size_t Count(const Which& which) const {
    std::size_t count = 0;
    for (const auto& [id, connection] : connections_) count += which(*connection) ? 1 : 0;
    return count;
  }

  void Log(const std::string& line) const {
    if (log_) log_(line);
  }

  ReplicaServiceOptions options_;
  std::function<void(const std::string&)> log_;
  ReplicaState state_;
  Ed25519Seed seed_{};               // of the service's own key, in this process's memory alone
  bool writes_in_software_ = false;  // UCX's peers can write wherever they say
  UniqueFd listener_, epoll_, stop_;
  net::ucx::WorkerOptions worker_options_;
  SharedRegionMaker maker_;
  std::unique_ptr<ReplicaTable> table_;
  Connections connections_;
  ReplicaTable::User next_user_ = kFirstUser;
  bool any_ending_ = false;
};

Status Service::Watch(int descriptor, std::uint64_t event) {
  epoll_event watched{};
  watched.events = EPOLLIN;
  watched.data.u64 = event;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &watched) == 0) return Status::Ok();
  return {StatusCode::kUnavailable, "epoll: " + net::ErrnoText(errno)};
}

Status Service::Open() {
  if (!options_.issuers) return InvalidArgument("keys", "somebody has to say whose tokens count");
  if (options_.memory_bytes == 0) return InvalidArgument("memory", "it has to be above 0");
  Result<Listening> listening = ListenAt(options_.listen);
  if (!listening.ok()) return listening.status();
  listener_ = std::move(listening->socket);
  seed_ = options_.seed.value_or(MakeEd25519Seed());
  state_ = {listening->address, PublicKeyOf(seed_), RandomNumber()};
  const std::string devices = options_.ucx_net_devices.empty() ? listening->devices : options_.ucx_net_devices;
  const Result<std::string> transports = ServiceTransports(options_.ucx_tls);
  if (!transports.ok()) return transports.status();
  worker_options_ = {*transports, devices, options_.service_level};
  writes_in_software_ = !net::OnlyHardwareWrites(worker_options_.tls);
  // To know now, and not with the first client, whether the options suit this machine.
  if (auto worker = net::ucx::Worker::Open(worker_options_); !worker.ok()) return worker.status();
  table_ = std::make_unique<ReplicaTable>(maker_, options_.memory_bytes, options_.lease);
  epoll_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  stop_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !stop_) return {StatusCode::kUnavailable, "no epoll: " + net::ErrnoText(errno)};
  const std::pair<int, std::uint64_t> watched[] = {{listener_.get(), kListenerEvent}, {stop_.get(), kStopEvent}};
  for (const auto& [descriptor, event] : watched) {
    if (Status status = Watch(descriptor, event); !status.ok()) return status;
  }
  return Status::Ok();
}

void Service::Run() {
  TimePoint last_tick = Now();
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), static_cast<int>(kTick.ms));
    for (int i = 0; i < count; ++i) {
      const std::uint64_t event = events[static_cast<std::size_t>(i)].data.u64;
      if (event == kStopEvent) return;
      if (event == kListenerEvent) AcceptAll();
      const auto at = connections_.find(event & ~kTransferBit);
      if (at == connections_.end()) continue;
      if ((event & kTransferBit) != 0) HearTransfer(*at->second);
      Hear(*at->second);
    }
    if (any_ending_) CloseEnding();
    if (const TimePoint now = Now(); now - last_tick >= kTick) {
      last_tick = now;
      Tick(now);
    }
  }
}

void Service::AcceptAll() {
  for (;;) {
    UniqueFd socket = net::Accept(listener_.get());
    if (!socket) return;
    const ReplicaTable::User user = next_user_++;
    auto connection = std::make_unique<ServiceConnection>(user, std::move(socket), Now());
    const auto oldest =
        StrangerInTheWay(connections_, connection->host, options_.address_strangers_max, options_.strangers_max);
    if (oldest != connections_.end()) {
      const std::size_t strangers = Count([](const ServiceConnection& other) { return !other.is_known(); });
      (void)oldest->second->stream.Send(RefusalOf(TooMany("connections that have shown no token yet", strangers)));
      Close(oldest);
    }
    if (!Watch(connection->stream.descriptor(), user).ok()) continue;
    connections_[user] = std::move(connection);
  }
}

void Service::Hear(ServiceConnection& connection) {
  if (!connection.ending.empty()) return;
  Status status = connection.stream.Flush();
  if (status.ok()) status = connection.stream.Read();
  ControlMessage message;
  // Not while an answer is unread: a client that only asks is not served.
  while (connection.ending.empty() && !connection.stream.wants_to_write() &&
         connection.awaiting == ServiceConnection::Awaiting::kNothing) {
    const Result<bool> next = connection.stream.Next(message);
    if (!next.ok()) status = next.status();
    if (!next.ok() || !*next) break;
    Say(connection, Handle(connection, message));
  }
  if (!status.ok()) {
    connection.ending = status.message();
    any_ending_ = true;
  }
  if (const bool wants = connection.stream.wants_to_write(); wants != connection.watches_write) {
    connection.watches_write = wants;
    epoll_event watched{};
    watched.events = wants ? EPOLLOUT : EPOLLIN;
    watched.data.u64 = connection.id;
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.stream.descriptor(), &watched);
  }
}

void Service::Say(ServiceConnection& to, const Reply& reply) {
  if (reply.ok() && !reply->has_value()) return;
  const Status sent = to.stream.Send(reply.ok() ? **reply : ControlMessage(RefusalOf(reply.status())));
  const bool refused = !reply.ok() && to.stage != ServiceConnection::Stage::kMember;
  if (sent.ok() && !refused) return;
  to.ending = refused ? reply.status().message() : sent.message();
  any_ending_ = true;
}

Service::Reply Service::Handle(ServiceConnection& from, const ControlMessage& message) {
  switch (from.stage) {
    case ServiceConnection::Stage::kNew: {
      const auto* hello = std::get_if<Hello>(&message);
      return hello != nullptr ? Greet(from, *hello) : Reply(BadTurn());
    }
    case ServiceConnection::Stage::kChallenged: {
      const auto* answer = std::get_if<Answer>(&message);
      return answer != nullptr ? Admit(from, *answer) : Reply(BadTurn());
    }
    case ServiceConnection::Stage::kJoined: break;
    case ServiceConnection::Stage::kMember: return Serve(from, message);
  }
  return BadTurn();
}

Service::Reply Service::Greet(ServiceConnection& from, const Hello& hello) {
  if (Status checked = CheckHello(hello); !checked.ok()) return checked;
  from.hello = hello;
  from.nonce = MakeNonce();
  from.stage = ServiceConnection::Stage::kChallenged;
  return Reply(Challenge{from.nonce});
}

// Over wires on which UCX writes wherever the peer says, who is let in could take over what runs here for him.
Status Service::CheckFabric(const ReplicaClaims& claims, bool private_fabric) const {
  const bool alone = !writes_in_software_ || private_fabric || table_->OtherOwner(claims.user).empty();
  return alone ? Status::Ok() : SharedFabric(options_.ucx_tls);
}

Status Service::CheckBounds(const std::string& job) const {
  const std::size_t own = Count([&](const ServiceConnection& c) { return c.is_known() && c.hello.job == job; });
  if (own >= options_.job_connections_max) return TooMany("connections of job " + job, own);
  const std::size_t all = Count([](const ServiceConnection& c) { return c.is_known(); });
  return all >= options_.connections_max ? TooMany("connections", all) : Status::Ok();
}

Service::Reply Service::Admit(ServiceConnection& from, const Answer& answer) {
  const Hello& hello = from.hello;
  const ReplicaIssuers issuers = options_.issuers();
  const Result<ReplicaClaims> claims = CheckAnswer(hello, from.nonce, answer, issuers, state_);
  if (!claims.ok()) return claims.status();
  // A token counts as long as its attempt is the newest: also that of one who only reads.
  const std::uint32_t newest = table_->NewestAttempt(hello.job);
  if (claims->attempt < newest) return StaleAttempt(newest);
  if (Status status = CheckFabric(*claims, issuers.private_fabric); !status.ok()) return status;
  CloseWhere(StaleAttempt(hello.attempt), [&](const ServiceConnection& other) {
    return other.is_known() && other.hello.job == hello.job && other.claims.attempt < hello.attempt;
  });
  if (Status status = CheckBounds(hello.job); !status.ok()) return status;
  if (Status joined = table_->Join(from.id, hello.job, claims->user, hello.attempt, Now()); !joined.ok()) return joined;
  from.stage = ServiceConnection::Stage::kJoined;
  from.claims = *claims;
  from.worker = answer.worker;
  Result<std::unique_ptr<Transfer>> transfer = Transfer::Start(options_.program, worker_options_);
  if (!transfer.ok()) return transfer.status();
  from.transfer = std::move(transfer).value();
  from.awaiting = ServiceConnection::Awaiting::kWelcome;
  if (Status asked = from.transfer->Connect(answer.worker); !asked.ok()) return asked;
  if (Status watched = Watch(from.transfer->descriptor(), from.id | kTransferBit); !watched.ok()) return watched;
  return Reply(std::nullopt);
}

Status Service::Map(ServiceConnection& from, const std::shared_ptr<Region>& region,
                    ServiceConnection::Awaiting awaiting) {
  for (const auto& [id, connection] : connections_) connection->ForgetWhatIsGone();
  from.mapped[region->number()] = region;
  from.awaiting = awaiting;
  return from.transfer->Map(*region);
}

Service::Reply Service::Place(ServiceConnection& from, const Reserve& reserve, TimePoint now) {
  const auto writer = table_->WriterOf(from.hello.job, reserve.id.rank);
  CloseWhere({StatusCode::kAborted, "another writer of the same rank has come"}, [&](const ServiceConnection& other) {
    return writer.has_value() && other.id == *writer && other.id != from.id;
  });
  const Result<std::shared_ptr<Region>> region = table_->Reserve(from.id, reserve.id, reserve.size, now);
  if (!region.ok()) {
    Log("job " + from.hello.job + ", rank " + std::to_string(reserve.id.rank) + ": " + region.status().message());
    return region.status();
  }
  if (Status asked = Map(from, *region, ServiceConnection::Awaiting::kGrant); !asked.ok()) return asked;
  return Reply(std::nullopt);
}

Service::Reply Service::Serve(ServiceConnection& from, const ControlMessage& message) {
  const TimePoint now = Now();
  if (const auto* reserve = std::get_if<Reserve>(&message)) return Place(from, *reserve, now);
  if (const auto* commit = std::get_if<Commit>(&message)) {
    if (Status done = table_->Commit(from.id, commit->part_crc32c, now); !done.ok()) return done;
    return Reply(Done{});
  }
  if (const auto* list = std::get_if<List>(&message)) return Reply(table_->List(from.id, list->from_rank, now));
  if (const auto* open = std::get_if<checkpoint::Open>(&message)) {
    const Result<HeldCopy> held = table_->Open(from.id, open->id, now);
    if (!held.ok()) return held.status();
    from.opened = {0, "", held->size, held->part_crc32c};
    if (Status asked = Map(from, held->region, ServiceConnection::Awaiting::kOpened); !asked.ok()) return asked;
    return Reply(std::nullopt);
  }
  if (std::holds_alternative<Drop>(message)) {
    CloseWhere(
        Status(StatusCode::kFailedPrecondition, "the job is over").WithReason("JOB_OVER"),
        [&](const ServiceConnection& other) { return other.id != from.id && other.hello.job == from.hello.job; });
    table_->Drop(from.id);
    Log("job " + from.hello.job + " is over");
    return Reply(Done{});
  }
  from.ending = BadTurn().message();
  any_ending_ = true;
  return BadTurn();
}

void Service::HearTransfer(ServiceConnection& connection) {
  if (!connection.ending.empty()) return;
  const auto awaiting = std::exchange(connection.awaiting, ServiceConnection::Awaiting::kNothing);
  Result<TransferAnswer> answer = connection.transfer->Receive();
  // A process that has ended unasked was of no use any more, or UCX has ended it.
  if (!answer.ok() &&
      (answer.status().code() == StatusCode::kUnavailable || awaiting == ServiceConnection::Awaiting::kWelcome)) {
    (void)connection.stream.Send(RefusalOf(answer.status()));
    connection.ending = answer.status().message();
    any_ending_ = true;
    return;
  }
  if (!answer.ok()) return Say(connection, answer.status());
  switch (awaiting) {
    case ServiceConnection::Awaiting::kNothing: return;
    case ServiceConnection::Awaiting::kWelcome:
      connection.stage = ServiceConnection::Stage::kMember;
      return Say(connection, Reply(MakeWelcome(connection.hello, connection.nonce, connection.claims, connection.worker,
                                               answer->text, state_, seed_)));
    case ServiceConnection::Awaiting::kGrant: return Say(connection, Reply(Grant{answer->address, answer->text}));
    case ServiceConnection::Awaiting::kOpened:
      connection.opened.address = answer->address;
      connection.opened.key = answer->text;
      return Say(connection, Reply(connection.opened));
  }
}

template <typename Which>
void Service::CloseWhere(const Status& why, const Which& which) {
  for (auto at = connections_.begin(); at != connections_.end();) {
    const auto next = std::next(at);
    if (which(*at->second)) {
      (void)at->second->stream.Send(RefusalOf(why));
      Close(at);
    }
    at = next;
  }
}

void Service::CloseEnding() {
  any_ending_ = false;
  for (auto at = connections_.begin(); at != connections_.end();) {
    const auto next = std::next(at);
    if (!at->second->ending.empty()) Close(at);
    at = next;
  }
}

void Service::Close(Connections::iterator at) {
  at->second->transfer.reset();
  table_->Leave(at->first, Now());
  connections_.erase(at);
}

void Service::Tick(TimePoint now) {
  for (const auto& [id, connection] : connections_) {
    // (Who has shown the token waits as long as it likes for its transfer process, which may need long to open a card.)
    if (!connection->is_known() && now - connection->since >= options_.handshake)
      connection->ending = "no token in time";
  }
  CloseEnding();
  for (const std::string& job : table_->Expire(now)) Log("job " + job + " was not used for long: its copies are gone");
}

}  // namespace

bool ReplicaIsBuilt() { return true; }

Result<std::unique_ptr<ReplicaService>> ReplicaService::Create(const ReplicaServiceOptions& options,
                                                               std::function<void(const std::string&)> log) {
  auto service = std::make_unique<Service>(options, std::move(log));
  if (Status opened = service->Open(); !opened.ok()) return opened;
  return std::unique_ptr<ReplicaService>(std::move(service));
}

}  // namespace glim::checkpoint
