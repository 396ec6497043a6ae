// AgentStream: one AgentApi.Sync stream, from its Hello to its end.
//
//   WAITING --Hello checked--> CONNECTING --core says ok--> OPEN --stream ends, replaced, or torn message--> ENDED
//      \------- refused ----------\---------- refused ---------------------------------------------------------/
//
// Reads: messages are parsed here (the method is raw, so that a torn message gets an answer that says so), checked, and
// posted to the loop; the next one is read when the last was taken in, so that an agent has at most one in the inbox.
// Writes: at most one in flight; the desired state is built when it is sent, so the newest wins.
// Everything but the reactor's callbacks runs on the AgentStrand. Lives until gRPC's OnDone and the last posted
// handler.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/server/agents/agent_hub.h"
#include "scheduler/server/limits/caller_limits.h"

namespace glim::server {

class AgentStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                    public AgentLink,
                    public std::enable_shared_from_this<AgentStream> {
 public:
  // The reactor of a new call; it owns itself.
  static AgentStream* Open(AgentHub* hub, CallerLimits* limits, grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  // On the strand.
  void SendDesired(const SnapshotPtr& snapshot, GangCache* cache) override;
  void End(const grpc::Status& status) override;
  std::uint64_t session() const override { return session_; }

 private:
  AgentStream(AgentHub* hub, grpc::CallbackServerContext* context);
  void Begin(const Status& admitted);
  void Received(v1::AgentMessage message);
  void ReceiveHello(const v1::Hello& hello);
  void ReceiveReport(const v1::NodeReport& report);
  void Connected(const core::Reply& reply);
  Status CheckCluster(const v1::Hello& hello);
  void RefuseNode(const v1::Hello& hello, const Status& refusal);
  void RefuseNewerEpoch(std::uint64_t claimed);
  void AddSecretsTo(const Snapshot& snapshot, v1::DesiredState* set);
  void TokensMade(const Status& status, const std::vector<core::TaskId>& waiting);
  void FailLaunches(std::vector<core::ObservedTask> tasks);
  void SetWelcome(v1::Welcome* welcome);
  void TellReplicas(v1::Welcome* welcome);
  void Refuse(const Status& status);
  Status CheckPeer(const std::string& node, const std::string& machine_id) const;
  void ForgetPreviousCertificate();
  void ReadNext();
  void Write(const v1::SchedulerMessage& message);

  enum class State { kWaiting, kConnecting, kOpen, kEnded };

  AgentHub* hub_;
  grpc::CallbackServerContext* context_;
  std::shared_ptr<AgentStream> self_;  // until OnDone
  AgentPeer peer_;
  Admission admission_;
  grpc::ByteBuffer in_;

  State state_ = State::kWaiting;
  std::uint64_t session_ = 0;  // given at the hello, so that they grow in the order in which the core hears of them
  core::NodeId node_;
  std::string node_name_;
  std::string machine_id_;
  std::uint32_t version_ = 0;  // of the protocol, spoken on this stream
  std::size_t desired_bytes_max_ = 0;
  std::string root_told_;                                         // the checkpoint root of the Welcome
  std::string logs_told_;                                         // and the folder for logs
  std::shared_ptr<const identity::ClusterAuthority> trust_told_;  // and the authorities
  bool has_replicas_ = false;                                     // the node has a replica service
  std::string replicas_told_;                                     // and it was told by this word whose tokens count
  bool making_tokens_ = false;                                    // launches wait for that
  bool writing_ = false;
  bool desired_pending_ = false;
  bool ended_ = false;
  grpc::Status end_status_;
  grpc::ByteBuffer out_;
  boost::asio::steady_timer timer_;  // for the hello, and later for the end
};

}  // namespace glim::server
