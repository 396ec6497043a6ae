#include "scheduler/server/agents/agent_stream.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <chrono>
#include <optional>
#include <utility>

#include "scheduler/core/lifecycle/root_check.h"
#include "scheduler/server/agents/admit_agent.h"
#include "scheduler/server/agents/clock_check.h"
#include "scheduler/server/agents/leader_check.h"
#include "scheduler/server/convert/desired_fit.h"
#include "scheduler/server/convert/protocol.h"
#include "scheduler/server/convert/report_convert.h"
#include "scheduler/server/convert/rpc_status.h"
#include "sdk/base/printable.h"
#include "sdk/log/log.h"
#include "sdk/threads/hand_over.h"

namespace glim::server {
namespace {

constexpr auto kHelloMax = std::chrono::seconds(10);
constexpr std::size_t kAgentMessageBytesMax = 4 << 20;  // nodeagent/sync/message_sizes.h

template <typename Message>
bool Parse(grpc::ByteBuffer* bytes, Message* message) {
  return bytes->Valid() && grpc::SerializationTraits<Message>::Deserialize(bytes, message).ok();
}

Status Unexpected(const char* what) {
  return Status(StatusCode::kInvalidArgument, what).WithReason("BAD_AGENT_MESSAGE");
}

Status TooLong(std::size_t bytes) {
  return Status(StatusCode::kInvalidArgument, "the message is " + std::to_string(bytes) + " bytes long")
      .WithReason("BAD_AGENT_MESSAGE")
      .WithFix("send at most " + std::to_string(kAgentMessageBytesMax) + " bytes");
}

// An agent of the first release tells one version.
VersionRange VersionsOf(const v1::Hello& hello) {
  const std::uint32_t newest = hello.newest_protocol_version();
  return {hello.protocol_version(), newest ? newest : hello.protocol_version()};
}

Status RefusalOfVersion(const v1::Hello& hello) {
  const VersionRange theirs = VersionsOf(hello);
  const bool older = theirs.newest < kProtocolVersions.oldest;
  const std::string release = hello.agent_version().empty() ? "" : " (" + Printable(hello.agent_version()) + ")";
  return Status(StatusCode::kFailedPrecondition, "the agent" + release + " speaks protocol " + ToString(theirs) +
                                                     ", this scheduler (" + kVersion + ") " +
                                                     ToString(kProtocolVersions))
      .WithReason("PROTOCOL_VERSION")
      .WithField("protocol_version")
      .WithFix(older ? "upgrade glim-agent on this node; its tasks run on meanwhile"
                     : "upgrade the scheduler before its agents; the node's tasks run on meanwhile");
}

}  // namespace

AgentStream* AgentStream::Open(AgentHub* hub, CallerLimits* limits, grpc::CallbackServerContext* context) {
  std::shared_ptr<AgentStream> stream(new AgentStream(hub, context));
  stream->self_ = stream;
  stream->peer_ = hub->gate().PeerOf(*context);
  auto admission = AdmitAgent(limits, *context);
  const Status admitted = admission.status();
  if (admitted.ok()) stream->admission_ = std::move(admission).value();
  HandOver(stream.get());
  hub->strand().Post([stream, admitted] { stream->Begin(admitted); });
  return stream.get();
}

AgentStream::AgentStream(AgentHub* hub, grpc::CallbackServerContext* context)
    : hub_(hub), context_(context), timer_(hub->strand().io()) {}

void AgentStream::Begin(const Status& admitted) {
  hub_->Opened(shared_from_this());
  if (hub_->stopping()) return End(hub_->stop_status());
  if (!admitted.ok()) return End(ToGrpc(admitted));  // no line in the log for each of a flood
  timer_.expires_after(kHelloMax);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->state_ != State::kWaiting) return;
    self->End({grpc::StatusCode::DEADLINE_EXCEEDED, "no hello within 10 s"});
  });
  StartRead(&in_);
}

void AgentStream::OnReadDone(bool ok) {
  TakeOver(this);
  if (!ok) {
    hub_->strand().Post([self = shared_from_this()] { self->End(grpc::Status::OK); });
    return;
  }
  auto message = std::make_shared<v1::AgentMessage>();
  const std::size_t bytes = in_.Valid() ? in_.Length() : 0;
  const bool parsed = bytes <= kAgentMessageBytesMax && Parse(&in_, message.get());
  hub_->strand().Post([self = shared_from_this(), message, parsed, bytes] {
    if (self->ended_) return;
    if (bytes > kAgentMessageBytesMax) return self->Refuse(TooLong(bytes));
    if (!parsed) return self->Refuse(Unexpected("the message is torn: it is no AgentMessage"));
    self->Received(std::move(*message));
  });
}

void AgentStream::OnWriteDone(bool ok) {
  TakeOver(this);
  hub_->strand().Post([self = shared_from_this(), ok] {
    self->writing_ = false;
    if (self->ended_) {
      self->timer_.cancel();
      self->Finish(self->end_status_);
    } else if (!ok) {
      self->End({grpc::StatusCode::UNAVAILABLE, "the stream broke"});
    } else if (self->desired_pending_) {
      GangCache cache;
      self->SendDesired(self->hub_->loop().snapshot(), &cache);
    }
  });
}

void AgentStream::OnDone() {
  TakeOver(this);
  hub_->strand().Post([self = std::move(self_)] {
    self->admission_.Release();
    self->hub_->Closed(self);
  });
}

void AgentStream::Received(v1::AgentMessage message) {
  switch (message.kind_case()) {
    case v1::AgentMessage::kHello:
      if (state_ != State::kWaiting) return Refuse(Unexpected("a second hello on one stream"));
      return ReceiveHello(message.hello());
    case v1::AgentMessage::kReport:
      if (state_ != State::kOpen) return Refuse(Unexpected("the first message must be a hello"));
      return ReceiveReport(message.report());
    default: return Refuse(Unexpected("the message is neither a hello nor a report"));
  }
}

Status AgentStream::CheckCluster(const v1::Hello& hello) {
  if (hello.cluster_id() != hub_->cluster_id()) {
    return Status(StatusCode::kFailedPrecondition, "the agent belongs to cluster " + Printable(hello.cluster_id()) +
                                                       ", this scheduler to " + hub_->cluster_id())
        .WithReason("WRONG_CLUSTER")
        .WithField("cluster_id")
        .WithFix("point the agent at its own cluster's scheduler");
  }
  return Status::Ok();
}

// The core is told as well: the node is there, and what runs on it runs on.
void AgentStream::RefuseNode(const v1::Hello& hello, const Status& refusal) {
  core::NodeRefused event{hello.node_name(), hello.machine_id(), refusal.message() + ": " + refusal.fix()};
  const Status posted = hub_->loop().PostUnbounded(std::move(event), nullptr);
  if (!posted.ok()) LogDebug("refusal not told error=\"{}\"", posted.message());
  node_name_ = Printable(hello.node_name());
  Refuse(refusal);
}

// Anybody can say a number. Whether another leader came after us the store alone knows.
void AgentStream::RefuseNewerEpoch(std::uint64_t claimed) {
  state_ = State::kConnecting;
  hub_->leader_check().Ask([self = shared_from_this(), claimed](const Result<std::uint64_t>& newest) {
    if (self->ended_) return;
    self->Refuse(RefusalOfEpoch(claimed, self->hub_->loop().epoch(), newest));
  });
}

// Whether the certificate speaks for this node, now.
Status AgentStream::CheckPeer(const std::string& node, const std::string& machine_id) const {
  const SnapshotPtr snapshot = hub_->loop().snapshot();
  Status status = hub_->gate().CheckNode(peer_, *snapshot->tables.identity, hub_->loop().Now(), node, machine_id);
  if (!status.ok()) {
    hub_->gate().Denied(peer_, PeerHost(context_->peer()), "/glim.v1.AgentApi/Sync", "node " + Printable(node), status);
  }
  return status;
}

void AgentStream::ReceiveHello(const v1::Hello& hello) {
  timer_.cancel();
  admission_.Release(Bound::kAgentHellos);
  if (Status s = CheckCluster(hello); !s.ok()) return Refuse(s);
  if (Status s = CheckPeer(hello.node_name(), hello.machine_id()); !s.ok()) return Refuse(s);
  if (Status s = hub_->gate().CheckRuntime(hello.runtime()); !s.ok()) return RefuseNode(hello, s);
  const std::optional<std::uint32_t> version = CommonVersion(VersionsOf(hello), kProtocolVersions);
  if (!version) return RefuseNode(hello, RefusalOfVersion(hello));
  version_ = *version;
  if (hello.epoch() > hub_->loop().epoch()) return RefuseNewerEpoch(hello.epoch());
  if (Status s = CheckClock(hello, hub_->loop().epoch(), hub_->loop().Now()); !s.ok()) return RefuseNode(hello, s);
  auto event = HelloToEvent(hello);
  if (!event.ok()) return Refuse(event.status());
  event->session = session_ = hub_->NextSession();
  event->highest_job = HighestLaunched(hub_->secrets(), hello);
  node_name_ = hello.node_name();
  machine_id_ = hello.machine_id();
  has_replicas_ = !event->replica.empty();
  desired_bytes_max_ = DesiredBytesMax(hello.message_bytes_max());
  state_ = State::kConnecting;
  const Status posted =
      hub_->loop().PostUnbounded(std::move(event).value(), [self = shared_from_this()](const core::Reply& reply) {
        self->hub_->strand().Post([self, reply] { self->Connected(reply); });
      });
  if (!posted.ok()) Refuse(posted);
}

void AgentStream::Connected(const core::Reply& reply) {
  if (!reply.status.ok()) return Refuse(reply.status);
  node_ = reply.node;
  if (ended_) {  // it went, or we are stopping: the core believes that it is there
    hub_->Attach(node_, shared_from_this());
    hub_->Detach(node_, session_);
    return;
  }
  state_ = State::kOpen;
  // Revoked while the core was asked: whoever revokes ends the streams that he finds.
  if (Status s = CheckPeer(node_name_, machine_id_); !s.ok()) {
    hub_->Attach(node_, shared_from_this());
    return Refuse(s);
  }
  ForgetPreviousCertificate();
  LogInfo("agent connected node={} id={} session={} peer={}", node_name_, node_.value, session_, context_->peer());
  v1::SchedulerMessage message;
  message.mutable_welcome()->set_epoch(hub_->loop().epoch());
  message.mutable_welcome()->set_protocol_version(version_);
  SetWelcome(message.mutable_welcome());
  root_told_ = message.welcome().checkpoint_root();
  logs_told_ = message.welcome().logs_root();
  Write(message);
  desired_pending_ = true;
  hub_->Attach(node_, shared_from_this());
  ReadNext();
}

// The newest certificate is in use: whoever has the one before has it for nothing.
void AgentStream::ForgetPreviousCertificate() {
  const SnapshotPtr snapshot = hub_->loop().snapshot();
  const core::NodeIdentity* const row = snapshot->tables.identity->nodes.Find(peer_.node);
  if (row == nullptr || row->previous_serial.empty() || row->serial != peer_.serial) return;
  core::NodeIdentity next = *row;
  next.previous_serial.clear();
  const Status posted = hub_->loop().PostUnbounded(
      core::ChangeIdentity{{{next, false, core::IdentityRow(*row), false}}, ""}, [](const core::Reply&) {});
  if (!posted.ok()) LogDebug("the certificate before is not forgotten error=\"{}\"", posted.message());
}

void AgentStream::SetWelcome(v1::Welcome* welcome) {
  const auto policy = hub_->loop().snapshot()->policy;
  const std::string& root = policy->checkpoint_root;
  welcome->set_logs_root(policy->logs_root);
  welcome->set_report_every_ms(hub_->ReportEvery().ms);
  trust_told_ = hub_->authority();
  if (trust_told_) {
    for (const pki::Certificate& authority : trust_told_->Trust()) welcome->add_authorities(authority.der());
  }
  if (has_replicas_) TellReplicas(welcome);
  if (root.empty()) return;
  welcome->set_checkpoint_root(root);
  welcome->set_checkpoint_marker(core::RootMarkerName(hub_->cluster_id()));
}

void AgentStream::TellReplicas(v1::Welcome* welcome) {
  const SnapshotPtr snapshot = hub_->loop().snapshot();
  replicas_told_ = ReplicaWord(*snapshot);
  TellReplicaKeys(*snapshot, hub_->secrets(), welcome);
  // The first service of this cluster; it hears of the key with the next Welcome.
  std::optional<core::ChangeIdentity> wanted = WantedSigningKey(*snapshot, hub_->secrets());
  if (!wanted) return;
  AuditNote note;
  note.object = "the key of jobs' tokens";
  (void)hub_->loop().PostUnbounded(
      std::move(*wanted), [](const core::Reply&) {}, std::move(note));
}

void AgentStream::ReceiveReport(const v1::NodeReport& report) {
  // Its agent looks for the root that the Welcome named: with another one it begins anew.
  if (hub_->loop().snapshot()->policy->checkpoint_root != root_told_) {
    return End({grpc::StatusCode::UNAVAILABLE, "the policy's checkpoint_root has changed: connect again"});
  }
  if (hub_->loop().snapshot()->policy->logs_root != logs_told_) {
    return End({grpc::StatusCode::UNAVAILABLE, "the policy's logs_root has changed: connect again"});
  }
  if (hub_->authority() != trust_told_) {
    return End({grpc::StatusCode::UNAVAILABLE, "the cluster's authority is being changed: connect again"});
  }
  if (has_replicas_ && ReplicaWord(*hub_->loop().snapshot()) != replicas_told_) {
    return End({grpc::StatusCode::UNAVAILABLE, "whose replica tokens count has changed: connect again"});
  }
  if (hub_->gate().identity() && peer_.valid_until < hub_->loop().Now()) {
    return Refuse(CheckPeer(node_name_, machine_id_));
  }
  auto tasks = ReportToTasks(report);
  if (!tasks.ok()) return Refuse(tasks.status());
  const bool current = report.epoch() == hub_->loop().epoch();
  core::NodeReported event{node_, session_, current, std::move(tasks).value()};
  CheckReceipts(hub_->secrets(), node_name_, report, &event.tasks);
  NodeToEvent(report, *hub_->loop().snapshot()->policy, &event);
  const Status posted = hub_->loop().PostUnbounded(std::move(event), [self = shared_from_this()](const core::Reply&) {
    self->hub_->strand().Post([self] { self->ReadNext(); });
  });
  if (!posted.ok()) Refuse(posted);
}

void AgentStream::ReadNext() {
  if (!ended_) StartRead(&in_);
}

void AgentStream::SendDesired(const SnapshotPtr& snapshot, GangCache* cache) {
  if (state_ != State::kOpen || ended_) return;
  desired_pending_ = writing_;
  if (writing_) return;
  v1::SchedulerMessage message;
  *message.mutable_desired() = BuildDesiredState(*snapshot, node_, *snapshot->policy, hub_->loop().Now(), cache);
  AddSecretsTo(*snapshot, message.mutable_desired());
  FailLaunches(FitDesired(desired_bytes_max_, message.mutable_desired()));
  if (!ended_) Write(message);
}

// What is left out of the set for a token's row comes with the next one, when the row is there.
void AgentStream::AddSecretsTo(const Snapshot& snapshot, v1::DesiredState* set) {
  LaunchSecrets added = AddSecrets(snapshot, hub_->secrets(), hub_->loop().Now(), set);
  FailLaunches(std::move(added.failed));
  if (added.waiting.empty() || std::exchange(making_tokens_, true)) return;
  const Status posted = hub_->loop().PostUnbounded(
      std::move(added.wanted),
      [self = shared_from_this(), waiting = std::move(added.waiting)](const core::Reply& reply) {
        self->hub_->strand().Post([self, waiting, status = reply.status] { self->TokensMade(status, waiting); });
      },
      std::move(added.note));
  if (!posted.ok()) Refuse(posted);
}

void AgentStream::TokensMade(const Status& status, const std::vector<core::TaskId>& waiting) {
  making_tokens_ = false;
  if (ended_) return;
  // Another stream of the gang was faster, or nobody needs it any more: the rows of now say which.
  if (status.ok() || status.reason() == "CHANGED_MEANWHILE" || status.reason() == "ATTEMPT_ENDED") {
    GangCache cache;
    return SendDesired(hub_->loop().snapshot(), &cache);
  }
  std::vector<core::ObservedTask> failed;
  for (const core::TaskId& task : waiting) failed.push_back(FailedLaunch(task, "no token: " + status.message()));
  FailLaunches(std::move(failed));
}

// As if the agent had refused these launches. `current` is not said: the agent has not spoken.
void AgentStream::FailLaunches(std::vector<core::ObservedTask> tasks) {
  if (tasks.empty()) return;
  core::NodeReported event;
  event.tasks = std::move(tasks);
  for (const core::ObservedTask& task : event.tasks) {
    LogWarning("launch not sent node={} job={} error=\"{}\"", node_name_, task.id.attempt.job.value, task.message);
  }
  event.node = node_;
  event.session = session_;
  const Status posted = hub_->loop().PostUnbounded(std::move(event), nullptr);
  if (!posted.ok()) Refuse(posted);
}

void AgentStream::Write(const v1::SchedulerMessage& message) {
  bool own = false;
  out_.Clear();
  const grpc::Status packed = grpc::SerializationTraits<v1::SchedulerMessage>::Serialize(message, &out_, &own);
  if (!packed.ok()) return End({grpc::StatusCode::INTERNAL, "the desired state could not be packed"});
  writing_ = true;
  StartWrite(&out_);
}

void AgentStream::Refuse(const Status& status) {
  LogWarning("agent refused node={} session={} reason={} error=\"{}\"", node_name_, session_, status.reason(),
             status.message());
  End(ToGrpc(status));
}

void AgentStream::End(const grpc::Status& status) {
  if (ended_) return;
  ended_ = true;
  end_status_ = status;
  timer_.cancel();
  if (std::exchange(state_, State::kEnded) == State::kOpen) {
    LogInfo("agent stream ended node={} session={} code={} error=\"{}\"", node_name_, session_,
            static_cast<int>(status.error_code()), status.error_message());
    hub_->Detach(node_, session_);
  }
  if (!writing_) return Finish(end_status_);
  timer_.expires_after(kLastWriteMax);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self && self->writing_) self->context_->TryCancel();
  });
}

}  // namespace glim::server
