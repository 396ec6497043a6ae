#include "tests/bench/bench_agents.h"

#include <utility>

namespace glim::bench {
namespace {

constexpr std::uint32_t kStreamsAChannel = 100;  // of one connection; real agents have one each

}  // namespace

// gRPC's threads call it; each stream is read and written by one call at a time.
class BenchAgents::Agent : public grpc::ClientBidiReactor<v1::AgentMessage, v1::SchedulerMessage> {
 public:
  Agent(BenchAgents* all, const std::shared_ptr<grpc::Channel>& channel, const v1::Hello& hello,
        std::unique_ptr<BenchNode> node)
      : all_(all), stub_(v1::AgentApi::NewStub(channel)), node_(std::move(node)) {
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
    node_->TakeIn(desired);
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
    if (node_->Report(report)) again_ = true;
    all_->reports_.fetch_add(1, std::memory_order_relaxed);
    StartWrite(&out_);
  }

  BenchAgents* const all_;
  const std::unique_ptr<v1::AgentApi::Stub> stub_;
  grpc::ClientContext context_;
  v1::SchedulerMessage in_;
  std::mutex mutex_;
  const std::unique_ptr<BenchNode> node_;
  v1::AgentMessage out_;
  std::uint64_t epoch_ = 0;
  std::uint64_t revision_ = 0;
  bool writing_ = true;  // the hello
  bool again_ = false;
  bool has_reported_ = false;
};

BenchAgents::BenchAgents(const Options& options) {
  alive_ = options.agents;
  for (std::uint32_t n = 1; n <= options.agents; ++n) {
    if (n % kStreamsAChannel == 1) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // or they would share one connection
      channels_.push_back(grpc::CreateCustomChannel(options.server, grpc::InsecureChannelCredentials(), arguments));
    }
    agents_.push_back(std::make_unique<Agent>(this, channels_.back(), options.hello(n), options.node(n)));
  }
}

BenchAgents::~BenchAgents() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  for (const auto& agent : agents_) agent->Cancel();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return alive_ == 0; });
}

void BenchAgents::Reported() {
  std::lock_guard lock(mutex_);
  ++reported_;
  last_reported_ = Clock::now();
  changed_.notify_all();
}

void BenchAgents::Ended(const std::string& error) {
  std::lock_guard lock(mutex_);
  if (!closing_ && error_.empty()) error_ = "an agent's stream ended: " + error;
  --alive_;
  changed_.notify_all();
}

bool BenchAgents::WaitReported(std::chrono::seconds patience, Clock::time_point* at) {
  std::unique_lock lock(mutex_);
  const bool all = changed_.wait_for(lock, patience, [&] { return !error_.empty() || reported_ == agents_.size(); });
  if (!all) error_ = std::to_string(reported_) + " agents reported in time";
  if (at != nullptr) *at = last_reported_;
  return error_.empty();
}

std::string BenchAgents::error() {
  std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace glim::bench
