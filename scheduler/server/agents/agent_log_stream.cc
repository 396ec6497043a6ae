#include "scheduler/server/agents/agent_log_stream.h"

#include <chrono>
#include <utility>

#include "scheduler/server/agents/admit_agent.h"
#include "scheduler/server/convert/rpc_status.h"
#include "sdk/base/printable.h"
#include "sdk/log/log.h"
#include "sdk/threads/hand_over.h"

namespace glim::server {
namespace {

constexpr auto kIntroductionMax = std::chrono::seconds(10);
constexpr std::size_t kChunkBytesMax = 1 << 20;  // an agent sends 64 KiB

}  // namespace

AgentLogStream* AgentLogStream::Open(const Owner* owner, grpc::CallbackServerContext* context) {
  std::shared_ptr<AgentLogStream> stream(new AgentLogStream(owner, context));
  stream->self_ = stream;
  stream->peer_ = owner->gate->PeerOf(*context);
  auto admission = AdmitAgent(owner->limits, *context);
  const Status admitted = admission.status();
  if (admitted.ok()) stream->admission_ = std::move(admission).value();
  HandOver(stream.get());
  owner->strand->Post([stream, admitted] { stream->Begin(admitted); });
  return stream.get();
}

void AgentLogStream::Begin(const Status& admitted) {
  if (!admitted.ok()) return End(ToGrpc(admitted));
  timer_.expires_after(kIntroductionMax);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->node_) return;
    self->End({grpc::StatusCode::DEADLINE_EXCEEDED, "nobody has said within 10 s who serves"});
  });
  StartRead(&in_);
}

void AgentLogStream::OnReadDone(bool ok) {
  TakeOver(this);
  owner_->strand->Post([self = shared_from_this(), ok] {
    if (self->ended_) return;
    if (!ok) return self->End(grpc::Status::OK);
    self->Received();
  });
}

void AgentLogStream::OnWriteDone(bool ok) {
  TakeOver(this);
  owner_->strand->Post([self = shared_from_this(), ok] {
    self->writing_ = false;
    if (self->ended_) {
      self->timer_.cancel();
      return self->Finish(self->end_status_);
    }
    if (!ok) return self->End({grpc::StatusCode::UNAVAILABLE, "the stream broke"});
    self->WriteNext();
  });
}

void AgentLogStream::OnDone() {
  TakeOver(this);
  owner_->strand->Post([self = std::move(self_)] { self->admission_.Release(); });
}

void AgentLogStream::Received() {
  if (in_.ByteSizeLong() > kChunkBytesMax) {
    return End({grpc::StatusCode::INVALID_ARGUMENT, "the chunk is longer than 1 MiB"});
  }
  if (!node_) {
    if (Status s = Introduce(); !s.ok()) {
      LogWarning("log stream refused node={} reason={} error=\"{}\"", Printable(in_.node_name()), s.reason(),
                 s.message());
      return End(ToGrpc(s));
    }
    owner_->broker->Attach(node_, shared_from_this());
  } else if (Status s = CheckStill(); !s.ok()) {
    return End(ToGrpc(s));
  } else {
    owner_->broker->Answer(node_, std::move(in_));
  }
  in_.Clear();
  StartRead(&in_);
}

Status AgentLogStream::Introduce() {
  if (in_.id() != 0 || in_.node_name().empty()) {
    return Status(StatusCode::kInvalidArgument, "the first chunk must say who serves")
        .WithReason("BAD_AGENT_MESSAGE")
        .WithField("node_name");
  }
  if (in_.cluster_id() != owner_->cluster_id) {
    return Status(StatusCode::kFailedPrecondition, "the agent belongs to cluster " + Printable(in_.cluster_id()) +
                                                       ", this scheduler to " + owner_->cluster_id)
        .WithReason("WRONG_CLUSTER")
        .WithField("cluster_id");
  }
  if (Status s = CheckNode(in_.node_name(), in_.machine_id()); !s.ok()) return s;
  const SnapshotPtr snapshot = owner_->loop->snapshot();
  const core::NodeId* id = snapshot->tables.node_ids.Find(in_.node_name());
  const core::Node* node = id ? snapshot->tables.nodes.Find(*id) : nullptr;
  if (!node) {
    return Status(StatusCode::kFailedPrecondition, "the node is not known yet")
        .WithReason("NO_SUCH_NODE")
        .WithField("node_name")
        .WithFix("open Sync first, then ServeLogs");
  }
  if (node->machine_id != in_.machine_id()) {
    return Status(StatusCode::kAlreadyExists, "node name " + node->name + " belongs to another machine")
        .WithReason("NODE_NAME_TAKEN")
        .WithField("machine_id")
        .WithFix("give this agent another --node-name");
  }
  node_ = node->id;
  node_name_ = in_.node_name();
  machine_id_ = in_.machine_id();
  admission_.Release(Bound::kAgentHellos);
  return Status::Ok();
}

// Whether the certificate speaks for this node, now.
Status AgentLogStream::CheckNode(const std::string& node, const std::string& machine_id) const {
  const SnapshotPtr snapshot = owner_->loop->snapshot();
  Status status = owner_->gate->CheckNode(peer_, *snapshot->tables.identity, owner_->loop->Now(), node, machine_id);
  if (!status.ok()) {
    owner_->gate->Denied(peer_, PeerHost(context_->peer()), "/glim.v1.AgentApi/ServeLogs", "node " + Printable(node),
                         status);
  }
  return status;
}

// As Sync looks at each report: one that was replaced meanwhile serves on, for the agent has the newer one as well.
Status AgentLogStream::CheckStill() const {
  if (!owner_->gate->identity()) return Status::Ok();
  const SnapshotPtr snapshot = owner_->loop->snapshot();
  const core::NodeIdentity* const row = snapshot->tables.identity->nodes.Find(peer_.node);
  const bool in_force = row != nullptr && !row->revoked && peer_.valid_until >= owner_->loop->Now();
  return in_force ? Status::Ok() : CheckNode(node_name_, machine_id_);
}

void AgentLogStream::Send(const v1::LogRequest& request) {
  if (ended_) return;
  queue_.push_back(request);
  if (!writing_) WriteNext();
}

void AgentLogStream::WriteNext() {
  if (queue_.empty()) return;
  out_ = std::move(queue_.front());
  queue_.pop_front();
  writing_ = true;
  StartWrite(&out_);
}

void AgentLogStream::End(const grpc::Status& status) {
  if (ended_) return;
  ended_ = true;
  end_status_ = status;
  timer_.cancel();
  if (node_) owner_->broker->Detach(node_, this);
  if (!writing_) return Finish(end_status_);
  timer_.expires_after(kLastWriteMax);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self && self->writing_) self->context_->TryCancel();
  });
}

}  // namespace glim::server
