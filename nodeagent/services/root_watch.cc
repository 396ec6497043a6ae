#include "nodeagent/services/root_watch.h"

#include <algorithm>

#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

// A folder that hangs is not asked again and again by more and more threads.
constexpr int kHangingMax = 4;

}  // namespace

RootWatch::RootWatch(boost::asio::io_context& io, RootTimes times, std::vector<std::string> allowed,
                     std::function<void()> changed)
    : io_(io), times_(times), allowed_(std::move(allowed)), changed_(std::move(changed)), timer_(io) {}

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
  look_.reset();
  timer_.cancel();
  if (!root_.empty()) Look();
}

void RootWatch::Stop() {
  look_.reset();
  timer_.cancel();
}

void RootWatch::Look() {
  if (!IsAllowed()) {
    return OnAnswer(RootAnswer{"", root_ + " is in no folder that this node gives to jobs: add it to --mount-allow"});
  }
  if (*hanging_ >= kHangingMax) return OnAnswer(std::nullopt);
  ++*hanging_;
  look_ = std::make_unique<ApartCall<RootAnswer>>(
      io_,
      [root = root_, marker = marker_, hanging = hanging_] {
        RootAnswer answer = CheckRoot(root, marker);
        --*hanging;
        return answer;
      },
      times_.limit, [this](std::optional<RootAnswer> answer) { OnAnswer(std::move(answer)); });
}

void RootWatch::OnAnswer(std::optional<RootAnswer> answer) {
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
