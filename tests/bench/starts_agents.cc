#include "tests/bench/starts_agents.h"

#include <algorithm>
#include <utility>

namespace glim::bench {
namespace {

constexpr std::uint32_t kStreamsAChannel = 100;  // of one connection; real agents have one each

// A task as its node knows it.
struct Known {
  v1::AttemptRef attempt;
  std::uint32_t index = 0;
  bool told_running = false;

  bool Is(const v1::DesiredTask& task) const {
    return attempt.job_id() == task.attempt().job_id() && attempt.number() == task.attempt().number() &&
           index == task.index();
  }
};

void Observe(const Known& known, bool ended, v1::ObservedTask* task) {
  *task->mutable_attempt() = known.attempt;
  task->set_index(known.index);
  task->set_phase(ended ? v1::ObservedTask::RELEASED : v1::ObservedTask::RUNNING);
  auto* rank = task->add_ranks();
  rank->set_rank(known.index);
  rank->set_step(-1);
  rank->set_hold(-1);
  rank->set_restored_step(-1);
  rank->set_exited(ended);
}

}  // namespace

// gRPC's threads call it; each stream is read and written by one call at a time.
class StartsAgents::Agent : public grpc::ClientBidiReactor<v1::AgentMessage, v1::SchedulerMessage> {
 public:
  Agent(StartsAgents* all, const std::shared_ptr<grpc::Channel>& channel, const v1::Hello& hello, bool running_first)
      : all_(all), stub_(v1::AgentApi::NewStub(channel)), running_first_(running_first) {
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
    bool first = false;
    {
      std::lock_guard lock(mutex_);
      writing_ = false;
      if (!ok) return;
      first = out_.has_report() && !std::exchange(has_reported_, true);
      if (std::exchange(again_, false)) Send();
    }
    if (first) all_->Reported();
  }

  void OnDone(const grpc::Status& status) override { all_->Ended(status.error_message()); }

 private:
  void TakeIn(const v1::DesiredState& desired) {
    std::lock_guard lock(mutex_);
    epoch_ = desired.epoch();
    revision_ = desired.revision();
    std::vector<Known> tasks;
    for (const v1::DesiredTask& wanted : desired.tasks()) {
      const auto known = std::find_if(tasks_.begin(), tasks_.end(), [&](const Known& k) { return k.Is(wanted); });
      if (known != tasks_.end()) {
        tasks.push_back(*known);
        continue;
      }
      tasks.push_back({wanted.attempt(), wanted.index(), !running_first_});
      if (wanted.index() == 0) all_->launched_jobs_.fetch_add(1, std::memory_order_relaxed);
    }
    tasks_ = std::move(tasks);  // what is no longer wanted had ended, and is forgotten
    if (writing_) {
      again_ = true;
    } else {
      Send();
    }
  }

  // With the lock held.
  void Send() {
    writing_ = true;
    out_.Clear();
    v1::NodeReport* const report = out_.mutable_report();
    report->set_epoch(epoch_);
    report->set_revision(revision_);
    for (Known& known : tasks_) {
      const bool ended = std::exchange(known.told_running, true);
      Observe(known, ended, report->add_tasks());
      again_ = again_ || !ended;
    }
    all_->reports_.fetch_add(1, std::memory_order_relaxed);
    StartWrite(&out_);
  }

  StartsAgents* const all_;
  const std::unique_ptr<v1::AgentApi::Stub> stub_;
  const bool running_first_;
  grpc::ClientContext context_;
  v1::SchedulerMessage in_;
  std::mutex mutex_;
  v1::AgentMessage out_;
  std::vector<Known> tasks_;
  std::uint64_t epoch_ = 0;
  std::uint64_t revision_ = 0;
  bool writing_ = true;  // the hello
  bool again_ = false;
  bool has_reported_ = false;
};

StartsAgents::StartsAgents(const Options& options, const std::function<v1::Hello(std::uint32_t)>& hello) {
  alive_ = options.agents;
  for (std::uint32_t n = 1; n <= options.agents; ++n) {
    if (n % kStreamsAChannel == 1) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // or they would share one connection
      channels_.push_back(grpc::CreateCustomChannel(options.server, grpc::InsecureChannelCredentials(), arguments));
    }
    agents_.push_back(std::make_unique<Agent>(this, channels_.back(), hello(n), options.running_first));
  }
}

StartsAgents::~StartsAgents() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  for (const auto& agent : agents_) agent->Cancel();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return alive_ == 0; });
}

void StartsAgents::Reported() {
  std::lock_guard lock(mutex_);
  ++reported_;
  changed_.notify_all();
}

void StartsAgents::Ended(const std::string& error) {
  std::lock_guard lock(mutex_);
  if (!closing_ && error_.empty()) error_ = "an agent's stream ended: " + error;
  --alive_;
  changed_.notify_all();
}

bool StartsAgents::WaitReported(std::chrono::seconds patience) {
  std::unique_lock lock(mutex_);
  const bool all = changed_.wait_for(lock, patience, [&] { return !error_.empty() || reported_ == agents_.size(); });
  if (!all) error_ = std::to_string(reported_) + " agents reported in time";
  return error_.empty();
}

std::string StartsAgents::error() {
  std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace glim::bench
