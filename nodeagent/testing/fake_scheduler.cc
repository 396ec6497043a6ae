#include "nodeagent/testing/fake_scheduler.h"

#include "sdk/base/check.h"

namespace glim::nodeagent {

FakeScheduler::FakeScheduler() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  GLIM_CHECK(server_ && port_ > 0, "no port for the test's scheduler");
}

FakeScheduler::~FakeScheduler() {
  server_->Shutdown(std::chrono::system_clock::now());  // waits for the handlers
  std::lock_guard lock(mutex_);                         // the thread sanitizer does not see that wait, but it sees this
}

void FakeScheduler::set_report_every_ms(int ms) {
  std::lock_guard lock(mutex_);
  report_every_ms_ = ms;
}

void FakeScheduler::TellReplicas(std::vector<std::string> keys, bool private_fabric) {
  const std::lock_guard lock(mutex_);
  replica_keys_ = std::move(keys);
  private_fabric_ = private_fabric;
}

void FakeScheduler::NameLogsRoot(const std::string& root) {
  std::lock_guard lock(mutex_);
  logs_root_ = root;
}

void FakeScheduler::NameRoot(const std::string& root, const std::string& marker) {
  std::lock_guard lock(mutex_);
  root_ = root;
  marker_ = marker;
}

void FakeScheduler::AnswerSaves(SavesAnswer answer) {
  std::lock_guard lock(mutex_);
  saves_answer_ = std::move(answer);
}

grpc::Status FakeScheduler::ReviewSaves(grpc::ServerContext*, const v1::SavesHeld* held, v1::SavesVerdict* verdict) {
  std::lock_guard lock(mutex_);  // who takes the answer away is not asked any more
  return saves_answer_ ? saves_answer_(*held, verdict) : grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
}

void FakeScheduler::set_epoch(std::uint64_t epoch) {
  std::lock_guard lock(mutex_);
  epoch_ = epoch;
}

void FakeScheduler::set_protocol_version(std::uint32_t version) {
  std::lock_guard lock(mutex_);
  protocol_version_ = version;
}

void FakeScheduler::Refuse(grpc::Status status) {
  std::lock_guard lock(mutex_);
  refusal_ = std::move(status);
}

grpc::Status FakeScheduler::Sync(grpc::ServerContext* context, SyncStream* stream) {
  v1::AgentMessage message;
  if (!stream->Read(&message) || !message.has_hello()) return {grpc::StatusCode::INVALID_ARGUMENT, "no hello"};
  {
    std::lock_guard lock(mutex_);
    hello_ = message.hello();
    ++hellos_;
    changed_.notify_all();
    if (!refusal_.ok()) return refusal_;
    v1::SchedulerMessage welcome;
    welcome.mutable_welcome()->set_epoch(epoch_);
    welcome.mutable_welcome()->set_protocol_version(protocol_version_);
    welcome.mutable_welcome()->set_report_every_ms(report_every_ms_);
    welcome.mutable_welcome()->set_checkpoint_root(root_);
    welcome.mutable_welcome()->set_checkpoint_marker(marker_);
    welcome.mutable_welcome()->set_logs_root(logs_root_);
    for (const std::string& key : replica_keys_) welcome.mutable_welcome()->add_replica_keys(key);
    welcome.mutable_welcome()->set_private_fabric(private_fabric_);
    stream->Write(welcome);
    if (wanted_) {
      v1::SchedulerMessage desired;
      *desired.mutable_desired() = *wanted_;
      stream->Write(desired);
    }
    sync_ = stream;
    sync_context_ = context;
    newest_.Clear();
    reports_ = 0;
  }
  while (stream->Read(&message)) {
    std::lock_guard lock(mutex_);
    if (sync_ != stream) continue;  // what a killed agent had still sent
    newest_ = message.report();
    ++reports_;
    changed_.notify_all();
  }
  std::lock_guard lock(mutex_);
  if (sync_ == stream) {
    sync_ = nullptr;
    sync_context_ = nullptr;
  }
  return grpc::Status::OK;
}

grpc::Status FakeScheduler::ServeLogs(grpc::ServerContext*, LogStream* stream) {
  v1::LogChunk chunk;
  if (!stream->Read(&chunk)) return grpc::Status::OK;
  {
    std::lock_guard lock(mutex_);
    introduction_ = chunk;
    logs_ = stream;
    changed_.notify_all();
  }
  while (stream->Read(&chunk)) {
    std::lock_guard lock(mutex_);
    chunks_[chunk.id()] = chunk;
    changed_.notify_all();
  }
  std::lock_guard lock(mutex_);
  if (logs_ == stream) logs_ = nullptr;
  changed_.notify_all();
  return grpc::Status::OK;
}

void FakeScheduler::Want(const v1::DesiredState& set) {
  std::lock_guard lock(mutex_);
  wanted_ = set;
  if (!sync_) return;
  v1::SchedulerMessage message;
  *message.mutable_desired() = set;
  sync_->Write(message);
}

bool FakeScheduler::SendOnce(const v1::DesiredState& set) {
  std::lock_guard lock(mutex_);
  v1::SchedulerMessage message;
  *message.mutable_desired() = set;
  return sync_ && sync_->Write(message);
}

void FakeScheduler::Disconnect() {
  std::lock_guard lock(mutex_);
  if (sync_context_) sync_context_->TryCancel();
}

bool FakeScheduler::WaitHello(int count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, LongWait(), [&] { return hellos_ >= count; });
}

v1::Hello FakeScheduler::last_hello() {
  std::lock_guard lock(mutex_);
  return hello_;
}

int FakeScheduler::hellos() {
  std::lock_guard lock(mutex_);
  return hellos_;
}

std::optional<v1::NodeReport> FakeScheduler::WaitReport(const std::function<bool(const v1::NodeReport&)>& check,
                                                        std::chrono::milliseconds bound) {
  std::unique_lock lock(mutex_);
  const bool seen = changed_.wait_for(lock, Slower(bound), [&] { return reports_ > 0 && check(newest_); });
  return seen ? std::optional(newest_) : std::nullopt;
}

int FakeScheduler::reports() {
  std::lock_guard lock(mutex_);
  return reports_;
}

v1::NodeReport FakeScheduler::newest() {
  std::lock_guard lock(mutex_);
  return newest_;
}

std::optional<v1::LogChunk> FakeScheduler::Fetch(v1::LogRequest request) {
  std::unique_lock lock(mutex_);
  const auto until = std::chrono::steady_clock::now() + LongWait();
  // Asked again when the stream ends first: that of an agent just killed may still look alive.
  while (changed_.wait_until(lock, until, [&] { return logs_ != nullptr; })) {
    LogStream* const asked = logs_;
    request.set_id(next_request_++);
    const bool sent = asked->Write(request);
    const auto come = [&] { return chunks_.contains(request.id()); };
    const bool told = changed_.wait_until(lock, until, [&] { return come() || logs_ != asked; });
    if (sent && come()) return chunks_.extract(request.id()).mapped();
    if (!told) break;
  }
  return std::nullopt;
}

v1::LogChunk FakeScheduler::introduction() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, LongWait(), [&] { return logs_ != nullptr; });
  return introduction_;
}

}  // namespace glim::nodeagent
