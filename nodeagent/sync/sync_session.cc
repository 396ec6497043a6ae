#include "nodeagent/sync/sync_session.h"

#include <algorithm>
#include <utility>

#include "glim/v1/common.pb.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::chrono::milliseconds kProgressPause{250};
constexpr std::int64_t kReportMsMin = 20;
constexpr std::int64_t kReportMsMax = 60'000;

// As if the scheduler had said it.
grpc::Status RefusalOf(const Status& disbelief) {
  v1::ErrorDetail detail;
  detail.set_reason(disbelief.reason());
  detail.set_field(disbelief.field());
  detail.set_fix(disbelief.fix());
  return {static_cast<grpc::StatusCode>(disbelief.code()), disbelief.message(), detail.SerializeAsString()};
}

// What the scheduler says of its refusal: a word for it, and what is to be done.
v1::ErrorDetail DetailOf(const grpc::Status& status) {
  v1::ErrorDetail detail;
  return detail.ParseFromString(status.error_details()) ? detail : v1::ErrorDetail();
}

}  // namespace

SyncSession::SyncSession(boost::asio::io_context& io, StubSource stub, std::uint64_t seed, Hooks hooks)
    : io_(io),
      stub_(std::move(stub)),
      hooks_(std::move(hooks)),
      reconnect_(seed),
      connect_timer_(io),
      report_timer_(io) {}

void SyncSession::Start() { Connect(); }

void SyncSession::Stop() {
  stopped_ = true;
  connect_timer_.cancel();
  report_timer_.cancel();
  if (stream_) stream_->Cancel();
}

void SyncSession::Restart() {
  if (stream_) stream_->Cancel();
}

void SyncSession::Connect() {
  Stream::Handlers handlers;
  handlers.on_read = [this](v1::SchedulerMessage message) { OnMessage(std::move(message)); };
  handlers.on_written = [this] { OnWritten(); };
  handlers.on_done = [this](const grpc::Status& status) { OnDone(status); };
  stream_ = Stream::Open(
      io_, [this](grpc::ClientContext* context, Stream* reactor) { stub_()->async()->Sync(context, reactor); },
      std::move(handlers));
  v1::AgentMessage message;
  *message.mutable_hello() = hooks_.hello();
  writing_ = true;
  stream_->Write(std::move(message));
}

void SyncSession::OnMessage(v1::SchedulerMessage message) {
  if (stopped_ || !Believes(message)) return;
  if (message.has_welcome()) OnWelcome(message.welcome());
  if (message.has_desired()) hooks_.on_desired(std::move(*message.mutable_desired()));
}

// A scheduler that is not believed is left, and nothing that it says is acted on.
bool SyncSession::Believes(const v1::SchedulerMessage& message) {
  if (!disbelief_.ok()) return false;
  disbelief_ = hooks_.believe(message);
  if (!disbelief_.ok()) stream_->Cancel();
  return disbelief_.ok();
}

void SyncSession::OnWelcome(const v1::Welcome& welcome) {
  report_every_ = std::chrono::milliseconds(std::clamp(welcome.report_every_ms(), kReportMsMin, kReportMsMax));
  LogInfo("event=connected epoch={} report_every_ms={}", welcome.epoch(), report_every_.count());
  open_ = true;
  last_refusal_.clear();
  reconnect_.Succeeded();
  hooks_.on_welcome(welcome);
  hooks_.on_open();
  Changed(Urgency::kNow);
}

void SyncSession::OnWritten() {
  writing_ = false;
  if (dirty_) Send();
}

void SyncSession::Changed(Urgency urgency) {
  if (urgency == Urgency::kNow) {
    dirty_ = true;
    if (open_ && !writing_) Send();
    return;
  }
  if (progress_) return;
  progress_ = true;
  if (open_) Beat();
}

void SyncSession::Send() {
  if (!open_) return;
  dirty_ = false;
  progress_ = false;
  writing_ = true;
  reported_at_ = std::chrono::steady_clock::now();
  v1::AgentMessage message;
  *message.mutable_report() = hooks_.report();
  stream_->Write(std::move(message));
  Beat();
}

// Arms the timer for the next report that nothing urgent asks for.
void SyncSession::Beat() {
  report_timer_.expires_at(reported_at_ + (progress_ ? std::min(kProgressPause, report_every_) : report_every_));
  report_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopped_) Changed(Urgency::kNow);
  });
}

void SyncSession::OnDone(const grpc::Status& status) {
  const bool was_open = std::exchange(open_, false);
  writing_ = false;
  report_timer_.cancel();
  stream_.reset();
  if (was_open) hooks_.on_closed();
  if (stopped_) return;
  const Status disbelief = std::exchange(disbelief_, Status());
  const bool refused = !disbelief.ok() || Reconnect::IsRefusal(status.error_code());
  LogEnd(was_open, refused, disbelief.ok() ? status : RefusalOf(disbelief));
  connect_timer_.expires_after(reconnect_.Next(refused));
  connect_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopped_) Connect();
  });
}

// The same words are not said again every five seconds.
void SyncSession::LogEnd(bool was_open, bool refused, const grpc::Status& status) {
  const std::string why = std::to_string(status.error_code()) + " " + status.error_message();
  if (refused && why != last_refusal_) {
    const v1::ErrorDetail detail = DetailOf(status);
    LogError("event=refused code={} reason={} error={} fix={}", static_cast<int>(status.error_code()),
             Quoted(detail.reason()), Quoted(status.error_message()), Quoted(detail.fix()));
  } else if (!refused && (was_open || why != last_refusal_)) {
    LogWarning("event=disconnected code={} error={}", static_cast<int>(status.error_code()),
               Quoted(status.error_message()));
  }
  last_refusal_ = why;
}

}  // namespace glim::nodeagent
