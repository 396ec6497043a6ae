#include "scheduler/server/testing/fake_agent.h"

#include <chrono>

#include "sdk/base/line_pages.h"
#include "sdk/base/testing/waits.h"

namespace glim::server {

v1::Hello MakeHello(const std::string& cluster_id, const std::string& name) {
  v1::Hello hello;
  hello.set_protocol_version(1);
  hello.set_cluster_id(cluster_id);
  hello.set_node_name(name);
  hello.set_machine_id("machine-of-" + name);
  hello.set_boot_id("boot-1");
  hello.mutable_labels()->set_pool("default");
  hello.mutable_labels()->set_zone("A");
  hello.mutable_labels()->set_leaf("leaf-1");
  hello.mutable_labels()->set_gpu_type("A100");
  hello.mutable_labels()->set_gpu_count(8);
  hello.mutable_labels()->set_nvlink("pair");
  hello.mutable_labels()->set_nic("infiniband");
  hello.mutable_labels()->set_simulated_gpus(true);
  hello.set_address("10.0.0." + std::to_string(name.back() - '0'));
  hello.set_agent_version("0.1.0");
  hello.set_runtime("process");
  hello.set_census("best_effort");
  return hello;
}

FakeAgent::FakeAgent(const std::shared_ptr<grpc::Channel>& channel, const v1::Hello& hello)
    : stub_(v1::AgentApi::NewStub(channel)), stream_(stub_->Sync(&context_)) {
  v1::AgentMessage message;
  *message.mutable_hello() = hello;
  stream_->Write(message);
  reader_ = std::thread([this] { Read(); });
}

FakeAgent::~FakeAgent() {
  context_.TryCancel();
  reader_.join();
}

void FakeAgent::Read() {
  v1::SchedulerMessage message;
  while (stream_->Read(&message)) {
    std::lock_guard lock(mutex_);
    if (message.has_welcome()) welcome_ = message.welcome();
    if (message.has_desired()) desired_ = message.desired();
    changed_.notify_all();
  }
  const grpc::Status status = stream_->Finish();
  std::lock_guard lock(mutex_);
  end_ = status;
  changed_.notify_all();
}

std::optional<v1::Welcome> FakeAgent::WaitWelcome() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, LongWait(), [&] { return welcome_ || end_; });
  return welcome_;
}

std::optional<v1::DesiredState> FakeAgent::WaitDesired(const std::function<bool(const v1::DesiredState&)>& condition) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, LongWait(), [&] { return condition(desired_); })) return std::nullopt;
  return desired_;
}

std::optional<v1::DesiredTask> FakeAgent::WaitTask(std::uint64_t job,
                                                   const std::function<bool(const v1::DesiredTask&)>& is) {
  std::optional<v1::DesiredTask> found;
  WaitDesired([&](const v1::DesiredState& set) {
    for (const auto& task : set.tasks()) {
      if (task.attempt().job_id() == job && is(task)) found = task;
    }
    return found.has_value();
  });
  return found;
}

std::optional<v1::DesiredTask> FakeAgent::WaitLaunch(std::uint64_t job) {
  return WaitTask(job, [](const v1::DesiredTask& task) { return task.has_launch(); });
}

std::optional<v1::DesiredTask> FakeAgent::WaitInterrupt(std::uint64_t job,
                                                        const std::function<bool(const v1::InterruptOrder&)>& is) {
  return WaitTask(job, [&](const v1::DesiredTask& task) { return task.has_interrupt() && is(task.interrupt()); });
}

std::optional<v1::DesiredTask> FakeAgent::WaitStop(std::uint64_t job) {
  return WaitTask(job, [](const v1::DesiredTask& task) { return task.has_stop(); });
}

void FakeAgent::Send(const v1::AgentMessage& message) { stream_->Write(message); }

void FakeAgent::Report(const std::vector<v1::ObservedTask>& tasks) {
  v1::AgentMessage message;
  {
    std::lock_guard lock(mutex_);
    message.mutable_report()->set_epoch(desired_.epoch());
    message.mutable_report()->set_revision(desired_.revision());
  }
  for (const auto& task : tasks) *message.mutable_report()->add_tasks() = task;
  Send(message);
}

std::optional<grpc::Status> FakeAgent::WaitEnd(std::chrono::milliseconds bound) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, bound, [&] { return end_.has_value(); });
  return end_;
}

grpc::Status FakeAgent::Close() {
  stream_->WritesDone();
  return WaitEnd().value_or(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "the stream did not end"));
}

v1::ObservedTask Observed(std::uint64_t job, std::uint32_t attempt, std::uint32_t index, v1::ObservedTask::Phase phase,
                          std::int64_t step) {
  v1::ObservedTask task;
  task.mutable_attempt()->set_job_id(job);
  task.mutable_attempt()->set_number(attempt);
  task.set_index(index);
  task.set_phase(phase);
  auto* rank = task.add_ranks();
  rank->set_rank(index);
  rank->set_connected(phase == v1::ObservedTask::RUNNING);
  rank->set_step(step);
  rank->set_step_ms(100);
  rank->set_hold(-1);
  rank->set_restored_step(-1);
  rank->set_exited(phase >= v1::ObservedTask::EXITED);
  return task;
}

FakeLogServer::FakeLogServer(const std::shared_ptr<grpc::Channel>& channel, const v1::Hello& hello)
    : stub_(v1::AgentApi::NewStub(channel)), stream_(stub_->ServeLogs(&context_)) {
  v1::LogChunk first;
  first.set_node_name(hello.node_name());
  first.set_cluster_id(hello.cluster_id());
  first.set_machine_id(hello.machine_id());
  stream_->Write(first);
  server_ = std::thread([this] { Serve(); });
}

FakeLogServer::~FakeLogServer() {
  context_.TryCancel();
  server_.join();
}

void FakeLogServer::Append(const std::string& log, const std::string& text, bool ended) {
  std::lock_guard lock(mutex_);
  logs_[log].text += text;
  logs_[log].ended = ended;
  changed_.notify_all();
}

std::optional<grpc::Status> FakeLogServer::ended() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, LongWait(), [&] { return end_.has_value(); });
  return end_;
}

void FakeLogServer::Serve() {
  v1::LogRequest request;
  while (stream_->Read(&request)) stream_->Write(Answer(request));
  const grpc::Status status = stream_->Finish();
  std::lock_guard lock(mutex_);
  end_ = status;
  changed_.notify_all();
}

// As an agent searches the files of its ranks.
v1::LogChunk FakeLogServer::Search(const v1::LogRequest& request) {
  const std::lock_guard lock(mutex_);
  ++searches_;
  v1::LogChunk chunk;
  chunk.set_id(request.id());
  if (!knows_searches_) return chunk;
  v1::LogFindings* const findings = chunk.mutable_findings();
  LineQuery query;
  query.word = request.search().word();
  query.ignore_case = request.search().ignore_case();
  query.newest_first = request.search().newest_first();
  query.context = request.search().context();
  query.offset = request.offset();
  query.lines_max = request.search().lines_max();
  query.bytes_max = std::size_t{1} << 16;
  for (std::uint32_t rank = request.rank(); rank < request.rank() + request.ranks(); ++rank, query.offset = -1) {
    findings->set_next_rank(rank);
    findings->set_next_offset(query.offset);
    const auto log = logs_.find(std::to_string(request.attempt().job_id()) + "." +
                                std::to_string(request.attempt().number()) + "." + std::to_string(rank));
    findings->set_missing(log == logs_.end());
    if (findings->missing() || query.lines_max == 0) return chunk;
    const LinePage page = SearchLines(TextLines(log->second.text, 0), query).value();
    for (const FoundText& line : page.lines) {
      v1::FoundLine* const out = findings->add_lines();
      out->set_rank(rank);
      out->set_offset(line.offset);
      out->set_text(line.text);
      out->set_match(line.match);
    }
    findings->set_searched_bytes(findings->searched_bytes() + page.searched_bytes);
    findings->set_next_offset(page.next);
    if (!page.done) return chunk;
    query.lines_max -= page.matches;
  }
  findings->set_done(true);
  return chunk;
}

v1::LogChunk FakeLogServer::Answer(const v1::LogRequest& request) {
  if (request.has_search()) return Search(request);
  const std::string log = std::to_string(request.attempt().job_id()) + "." +
                          std::to_string(request.attempt().number()) + "." + std::to_string(request.rank());
  std::unique_lock lock(mutex_);
  Log& of = logs_[log];
  const auto length = static_cast<std::int64_t>(of.text.size());
  const auto offset = static_cast<std::size_t>(
      request.offset() < 0 ? std::max<std::int64_t>(0, length + request.offset()) : request.offset());
  changed_.wait_for(lock, std::chrono::milliseconds(request.wait_ms()),
                    [&] { return of.text.size() > offset || of.ended; });
  v1::LogChunk chunk;
  chunk.set_id(request.id());
  chunk.set_offset(static_cast<std::int64_t>(offset));
  if (offset < of.text.size())
    chunk.set_data(of.text.substr(offset, std::min<std::size_t>(chunk_bytes_, request.bytes_max())));
  chunk.set_log_end(static_cast<std::int64_t>(of.text.size()));
  chunk.set_ended(of.ended && offset + chunk.data().size() >= of.text.size());
  return chunk;
}

}  // namespace glim::server
