#include "nodeagent/services/root_watch.h"

#include <algorithm>

#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
RootWatch::RootWatch(boost::asio::io_context& io, std::string program, RootTimes times,
                     std::vector<std::string> allowed, std::function<void()> changed)
    : program_(std::move(program)),
      times_(times),
      allowed_(std::move(allowed)),
      changed_(std::move(changed)),
      timer_(io),
      children_(io) {}

bool RootWatch::IsAllowed() const {
  return allowed_.empty() || std::any_of(allowed_.begin(), allowed_.end(), [this](const std::string& folder) {
           return root_ == folder || root_.starts_with(folder == "/" ? folder : folder + "/");
         });
}

void RootWatch::OnWelcome(const v1::Welcome& welcome) {
  if (welcome.checkpoint_root() != root_ || welcome.checkpoint_marker() != marker_) {
    root_ = welcome.checkpoint_root();
    marker_ = welcome.checkpoint_marker();
    answer_.reset();
  }
  timer_.cancel();
  if (!root_.empty()) Look();
}

void RootWatch::Stop() {
  children_.Stop();
  timer_.cancel();
}

void RootWatch::Look() {
  if (!IsAllowed()) {
    return OnAnswer(RootAnswer{"", root_ + " is in no folder that this node gives to jobs: add it to --mount-allow"});
  }
  const std::string asked = root_ + "/" + marker_;
  if (asked == asked_ && waiting_) return;
  // A folder that hangs is not asked by more and more processes.
  if (asked == asked_ && children_.IsThere(look_)) return OnAnswer(std::nullopt);
  children_.Cancel(look_);
  asked_ = asked;
  const Result<ChildWork::Id> look =
      children_.Start({program_, "root", root_, marker_}, "", times_.limit, [this](const ChildWork::Outcome& outcome) {
        OnAnswer(outcome.in_time ? std::optional(ParseRootRecord(outcome.output)) : std::nullopt);
      });
  if (!look.ok()) return OnAnswer(RootAnswer{"", look.status().message()});
  look_ = *look;
  waiting_ = true;
}

void RootWatch::OnAnswer(std::optional<RootAnswer> answer) {
  waiting_ = false;
  if (!answer) {
    answer = RootAnswer{"", root_ + " does not answer within " +
                                std::to_string(std::chrono::duration_cast<std::chrono::seconds>(times_.limit).count()) +
                                " s"};
  }
  if (answer_ != answer) {
    answer_ = std::move(answer);
    if (answer_->error.empty()) {
      LogInfo("event=checkpoint_root root={} marker={}", Quoted(root_), answer_->marker);
    } else {
      LogError("event=checkpoint_root_failed root={} error={}", Quoted(root_), Quoted(answer_->error));
    }
    changed_();
  }
  timer_.expires_after(times_.again);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) Look();
  });
}

void RootWatch::Report(v1::NodeReport* report) const {
  if (!answer_) return;
  report->mutable_root()->set_root(root_);
  report->mutable_root()->set_marker(answer_->marker);
  report->mutable_root()->set_error(answer_->error);
}

}  // namespace glim::nodeagent
