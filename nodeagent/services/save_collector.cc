#include "nodeagent/services/save_collector.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <utility>

#include "sdk/log/log.h"
#include "sdk/log/quoted.h"
#include "sdk/threads/hand_over.h"

namespace glim::nodeagent {
namespace {

constexpr std::int64_t kAgainMsMin = 100;
constexpr std::int64_t kAgainMsMax = 24 * 3'600'000;
constexpr std::chrono::seconds kAnswerLimit{30};

}  // namespace

// One question. The loop runs until gRPC has answered, or has called it off.
struct SaveCollector::Call final : grpc::ClientUnaryReactor {
  explicit Call(boost::asio::io_context& io) : work(io.get_executor()) {}

  void OnDone(const grpc::Status& how) override {
    TakeOver(this);
    status = how;
    boost::asio::post(work.get_executor(), [call = std::exchange(self, nullptr)] { call->done(call); });
  }

  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  grpc::ClientContext context;
  v1::SavesHeld question;
  v1::SavesVerdict verdict;
  grpc::Status status;
  std::function<void(const std::shared_ptr<Call>&)> done;  // on the loop
  std::shared_ptr<Call> self;                              // while gRPC has it
};

SaveCollector::SaveCollector(boost::asio::io_context& io, const AgentOptions& options, StubSource stub,
                             SaveCollectorTimes times, Hooks hooks)
    : io_(io),
      options_(options),
      stub_(std::move(stub)),
      times_(times),
      hooks_(std::move(hooks)),
      timer_(io),
      children_(io),
      again_(times.again) {}

SaveCollector::~SaveCollector() = default;

void SaveCollector::OnWelcome() {
  if (!std::exchange(begun_, true)) Wait(times_.first);
}

void SaveCollector::Stop() {
  timer_.cancel();
  children_.Stop();
  if (call_) call_->context.TryCancel();
  call_.reset();
}

void SaveCollector::Wait(std::chrono::milliseconds pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) Look(Place::kOwn);
  });
}

void SaveCollector::WaitForNextLook() {
  const auto due = looked_at_ + again_;
  const auto now = std::chrono::steady_clock::now();
  if (due - now <= times_.ask) {
    return Wait(std::max(std::chrono::milliseconds(0), std::chrono::ceil<std::chrono::milliseconds>(due - now)));
  }
  timer_.expires_after(times_.ask);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) AskHowLong();
  });
}

// A question about nothing: its answer says how long it is to the next look.
void SaveCollector::AskHowLong() {
  telling_ = true;
  Ask(Place::kOwn, nullptr);
}

SavesPlace SaveCollector::Where(Place place) const {
  if (place == Place::kOwn) return {options_.state_dir, "checkpoints"};
  return {root_, "jobs"};
}

void SaveCollector::Look(Place place) {
  if (place == Place::kOwn) looked_at_ = std::chrono::steady_clock::now();
  if (children_.IsThere(child_)) return Failed("look", "the storage has not answered since the last look");
  const SavesPlace where = Where(place);
  const Result<ChildWork::Id> child =
      children_.Start({BesideShim(options_, "glim-paths"), "find-saves", where.base, where.name}, "", times_.look,
                      [this, place](const ChildWork::Outcome& outcome) { Looked(place, outcome); });
  if (!child.ok()) return Failed("look", child.status().message());
  child_ = *child;
}

void SaveCollector::Looked(Place place, const ChildWork::Outcome& outcome) {
  if (!outcome.in_time) return Failed("look", Where(place).base + " does not answer");
  Result<std::vector<FoundSaves>> found = ParseFound(outcome.output);
  if (!found.ok()) return Failed("look", found.status().message());
  Ask(place, &*found);
}

void SaveCollector::Ask(Place place, const std::vector<FoundSaves>* found) {
  call_ = std::make_shared<Call>(io_);
  v1::SavesHeld& question = call_->question;
  question.set_cluster_id(options_.cluster_id);
  question.set_node_name(options_.node_name);
  question.set_machine_id(options_.machine_id);
  question.set_shared(place == Place::kRoot);
  held_.clear();
  question.set_looked(found != nullptr);
  for (const FoundSaves& saves : found ? *found : std::vector<FoundSaves>()) {
    v1::JobSaves* const held = question.add_held();
    held->set_in_use(hooks_.has_task(saves.job));
    held->set_saves(saves.saves);
    if (!held->in_use()) held_[saves.job] = saves.bytes;
    held->set_job_id(saves.job);
    held->set_bytes(saves.bytes);
    held->set_changed_at_ms(saves.changed_at_ms);
    held->set_noted(saves.noted);
  }
  for (const auto& [job, bytes] : removed_[place]) {
    v1::JobSaves* const removed = question.add_removed();
    removed->set_job_id(job);
    removed->set_bytes(bytes);
  }
  call_->context.set_deadline(std::chrono::system_clock::now() + kAnswerLimit);
  call_->done = [this, place](const std::shared_ptr<Call>& call) {
    if (call_ == call) Answered(place, *call);  // else Stop has let go of it
  };
  call_->self = call_;
  stub_()->async()->ReviewSaves(&call_->context, &call_->question, &call_->verdict, call_.get());
  HandOver(call_.get());
  call_->StartCall();
}

void SaveCollector::Answered(Place place, Call& call) {
  const std::shared_ptr<Call> held = std::exchange(call_, nullptr);
  const bool telling = std::exchange(telling_, false);
  if (call.status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {  // a scheduler of an earlier release
    removed_.clear();
    return Wait(times_.unknown);
  }
  if (!call.status.ok()) return Failed("ask", call.status.error_message());
  if (call.verdict.epoch() < hooks_.epoch()) return Failed("ask", "a scheduler of an earlier epoch answered");
  removed_.erase(place);
  again_ = std::chrono::milliseconds(std::clamp(call.verdict.again_ms(), kAgainMsMin, kAgainMsMax));
  last_failure_.clear();
  if (telling) return EndRound();
  if (place == Place::kOwn) root_ = call.verdict.collect_root();
  SavesOrder order;
  for (const std::uint64_t job : call.verdict.remove()) {
    if (held_.contains(job) && !hooks_.has_task(job)) order.remove.push_back(job);
  }
  for (const std::uint64_t job : call.verdict.note()) {
    if (held_.contains(job)) order.note.push_back(job);
  }
  if (order == SavesOrder{}) return Next(place);
  Remove(place, order);
}

void SaveCollector::Remove(Place place, const SavesOrder& order) {
  const SavesPlace where = Where(place);
  const Result<ChildWork::Id> child =
      children_.Start({BesideShim(options_, "glim-paths"), "remove-saves", where.base, where.name}, ToText(order),
                      times_.remove, [this, place](const ChildWork::Outcome& outcome) { Removed(place, outcome); });
  if (!child.ok()) return Failed("remove", child.status().message());
  child_ = *child;
}

void SaveCollector::Removed(Place place, const ChildWork::Outcome& outcome) {
  const RemovedSaves removed = ParseRemoved(outcome.output);
  for (const std::uint64_t job : removed.jobs) {
    removed_[place][job] = held_[job];
    LogInfo("event=saves_removed job={} bytes={} place={}", job, held_[job], Quoted(Where(place).base));
  }
  if (!outcome.in_time) return Failed("remove", Where(place).base + " does not answer");
  if (!removed.status.ok()) LogError("event=saves_not_removed error={}", Quoted(removed.status.message()));
  Next(place);
}

void SaveCollector::Next(Place place) {
  if (place == Place::kOwn && !root_.empty()) return Look(Place::kRoot);
  EndRound();
}

// What has gone is told at once, so that users hear of it: by a question about nothing.
void SaveCollector::EndRound() {
  root_.clear();
  for (const Place place : {Place::kRoot, Place::kOwn}) {
    const auto removed = removed_.find(place);
    if (removed == removed_.end() || removed->second.empty()) continue;
    telling_ = true;
    return Ask(place, nullptr);
  }
  WaitForNextLook();
}

void SaveCollector::Failed(const std::string& what, const std::string& why) {
  const std::string failure = what + ": " + why;
  if (failure != last_failure_) LogWarning("event=saves_review_failed doing={} error={}", what, Quoted(why));
  last_failure_ = failure;
  root_.clear();
  telling_ = false;
  Wait(times_.again);
}

}  // namespace glim::nodeagent
