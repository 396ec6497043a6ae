// The agent's side of AgentApi.Sync: connects, introduces itself, reports, hands in what the scheduler wants, and
// connects again when it must. On the agent's loop; not thread-safe. docs/protocols/agent-sync.md.
//
//   waiting --timer--> hello sent --Welcome--> open --stream ends--> waiting
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/sync/bidi_stream.h"
#include "nodeagent/sync/reconnect.h"
#include "nodeagent/sync/stub_source.h"
#include "nodeagent/sync/urgency.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

class SyncSession {
 public:
  struct Hooks {
    std::function<v1::Hello()> hello;
    std::function<v1::NodeReport()> report;
    std::function<Status(const v1::SchedulerMessage&)> believe;  // not OK: a scheduler that says this is not obeyed
    std::function<void(const v1::Welcome&)> on_welcome;
    std::function<void()> on_open;  // after that
    std::function<void()> on_closed;
    std::function<void(v1::DesiredState)> on_desired;
  };

  SyncSession(boost::asio::io_context& io, StubSource stub, std::uint64_t seed, Hooks hooks);

  void Start();
  void Stop();
  // Something in the report has changed. At most one report is under way; changes meanwhile go out together.
  // A step alone waits until a quarter of a second has passed since the last report.
  void Changed(Urgency urgency);
  // The connection is of no more use, or there are new credentials: begin anew.
  void Restart();

 private:
  using Stream = BidiStream<v1::AgentMessage, v1::SchedulerMessage>;

  void Connect();
  void OnMessage(v1::SchedulerMessage message);
  bool Believes(const v1::SchedulerMessage& message);
  void OnWelcome(const v1::Welcome& welcome);
  void OnWritten();
  void OnDone(const grpc::Status& status);
  void LogEnd(bool was_open, bool refused, const grpc::Status& status);
  void Send();
  void Beat();

  boost::asio::io_context& io_;
  const StubSource stub_;
  const Hooks hooks_;
  std::shared_ptr<Stream> stream_;
  Reconnect reconnect_;
  boost::asio::steady_timer connect_timer_;
  boost::asio::steady_timer report_timer_;  // the next report if nothing urgent comes first
  std::chrono::steady_clock::time_point reported_at_;
  std::chrono::milliseconds report_every_{1000};
  std::string last_refusal_;
  Status disbelief_;  // why this stream is ended by us; OK: it is not
  bool open_ = false;
  bool writing_ = false;
  bool dirty_ = false;
  bool progress_ = false;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
