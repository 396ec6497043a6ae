#include "tests/bench/recovery_agents.h"

#include <utility>

namespace glim::bench {
namespace {

constexpr std::uint32_t kStreamsAChannel = 100;  // of one connection; real agents have one each

v1::ObservedTask Observe(const v1::DesiredTask& wanted, bool ended) {
  v1::ObservedTask task;
  *task.mutable_attempt() = wanted.attempt();
  task.set_index(wanted.index());
  task.set_phase(ended ? v1::ObservedTask::RELEASED : v1::ObservedTask::RUNNING);
  auto* rank = task.add_ranks();
  rank->set_rank(wanted.index());
  rank->set_connected(!ended);
  rank->set_step(200);
  rank->set_step_ms(200);
  rank->set_hold(-1);
  rank->set_restored_step(-1);
  rank->set_finished(ended);
  rank->set_exited(ended);
  return task;
}

}  // namespace

// gRPC's threads call it; each stream is read and written by one call at a time.
class RecoveryAgents::Agent : public grpc::ClientBidiReactor<v1::AgentMessage, v1::SchedulerMessage> {
 public:
  Agent(RecoveryAgents* all, const std::shared_ptr<grpc::Channel>& channel, const v1::Hello& hello, bool is_first)
      : all_(all), stub_(v1::AgentApi::NewStub(channel)), is_first_(is_first) {
    *out_.mutable_hello() = hello;
    stub_->async()->Sync(&context_, this);
    StartWrite(&out_);
    StartRead(&in_);
    StartCall();
  }

  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (in_.has_desired()) TakeIn(in_.desired());
    StartRead(&in_);
  }

  void OnWriteDone(bool ok) override {
    std::unique_lock lock(mutex_);
    writing_ = false;
    if (!ok) return;
    if (reporting_ && !std::exchange(has_reported_, true)) {
      lock.unlock();
      all_->Reported();
      lock.lock();
    }
    if (std::exchange(again_, false)) Send();
  }

  void OnDone(const grpc::Status& status) override { all_->Ended(status.error_message()); }

 private:
  void TakeIn(const v1::DesiredState& desired) {
    std::lock_guard lock(mutex_);
    report_.Clear();
    report_.set_epoch(desired.epoch());
    report_.set_revision(desired.revision());
    for (const v1::DesiredTask& task : desired.tasks()) {
      if (is_first_ && task.has_launch()) all_->Launched();
      *report_.add_tasks() = Observe(task, is_first_ && !task.has_launch());
    }
    if (writing_) {
      again_ = true;
    } else {
      Send();
    }
  }

  void Send() {
    writing_ = reporting_ = true;
    *out_.mutable_report() = report_;
    StartWrite(&out_);
  }

  RecoveryAgents* const all_;
  const std::unique_ptr<v1::AgentApi::Stub> stub_;
  const bool is_first_;
  grpc::ClientContext context_;
  v1::SchedulerMessage in_;
  std::mutex mutex_;
  v1::AgentMessage out_;
  v1::NodeReport report_;
  bool writing_ = true;  // the hello
  bool again_ = false;
  bool reporting_ = false;
  bool has_reported_ = false;
};

RecoveryAgents::RecoveryAgents(const std::string& server, std::uint32_t agents,
                               const std::function<v1::Hello(std::uint32_t)>& hello) {
  alive_ = agents;
  for (std::uint32_t n = 1; n <= agents; ++n) {
    if (n % kStreamsAChannel == 1) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // or they would share one connection
      channels_.push_back(grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments));
    }
    agents_.push_back(std::make_unique<Agent>(this, channels_.back(), hello(n), n == 1));
  }
}

RecoveryAgents::~RecoveryAgents() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  for (const auto& agent : agents_) agent->Cancel();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return alive_ == 0; });
}

void RecoveryAgents::Reported() {
  std::lock_guard lock(mutex_);
  ++reported_;
  times_.all_reported = Clock::now();
  changed_.notify_all();
}

void RecoveryAgents::Launched() {
  std::lock_guard lock(mutex_);
  if (std::exchange(launched_, true)) return;
  times_.first_start = Clock::now();
  changed_.notify_all();
}

void RecoveryAgents::Ended(const std::string& error) {
  std::lock_guard lock(mutex_);
  if (!closing_ && error_.empty()) error_ = "an agent's stream ended: " + error;
  --alive_;
  changed_.notify_all();
}

bool RecoveryAgents::Wait(std::chrono::seconds patience, Times* times) {
  std::unique_lock lock(mutex_);
  const bool all =
      changed_.wait_for(lock, patience, [&] { return !error_.empty() || (launched_ && reported_ == agents_.size()); });
  if (!all) error_ = std::to_string(reported_) + " agents reported in time" + (launched_ ? "" : ", and no job started");
  *times = times_;
  return error_.empty();
}

std::string RecoveryAgents::error() {
  std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace glim::bench
