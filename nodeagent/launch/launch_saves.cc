#include "nodeagent/launch/launch_saves.h"

#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "nodeagent/task/user_paths.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {
namespace {

using std::chrono::steady_clock;

constexpr unsigned kCopiesAtOnce = 2;
constexpr std::chrono::milliseconds kWatchPause{500};
constexpr std::chrono::milliseconds kLookLimit{10'000};

std::string ValueOf(const v1::TaskLaunch& launch, TaskVariable variable) {
  std::string value;
  for (const v1::EnvVar& var : launch.env()) {
    if (var.name() == NameOf(variable)) value = var.value();  // the last one counts
  }
  return value;
}

// Empty: there is something, or whether there is can only be told by the task's user.
std::string WhyUnseen(const PathOrder& order, const ChildWork::Outcome& outcome) {
  const PathRecords records = ReadPathRecords(order, outcome.output);
  if (records.answers.empty()) return outcome.in_time ? "nobody could look" : "the storage does not answer";
  const int error = records.answers.begin()->second.error;
  return error == 0 || error == EACCES || error == EPERM ? "" : std::strerror(error);
}

CopyPlace PlaceOf(const AgentOptions& options) {
  CopyPlace place;
  place.state_dir = options.state_dir;
  place.node = options.node_name;
  return place;
}

CopyOrder OrderOf(const TaskKey& key, const std::optional<TaskUser>& user, const v1::TaskLaunch& launch) {
  CopyOrder order;
  order.job = key.job;
  order.local = launch.base().local();
  order.identity =
      "attempt " + std::to_string(launch.base().attempt()) + ", step " + ValueOf(launch, TaskVariable::kResumeStep);
  order.parts = launch.base().parts();
  order.owner = user;
  for (const v1::SaveSource& source : launch.base().sources()) {
    order.sources.push_back({source.node(), source.address(), source.token()});
  }
  return order;
}

}  // namespace

struct LaunchSaves::Wait {
  std::shared_ptr<CopyProgress> copy;
  ChildWork::Id look = 0;
  steady_clock::time_point begun = steady_clock::now();
  std::int64_t told_bytes = 0;
  std::int64_t copy_ms = 0;
  bool over = false;
  bool cancelled = false;
};

struct LaunchSaves::Mailbox {
  std::mutex mutex;
  LaunchSaves* owner = nullptr;  // null: it has stopped
};

LaunchSaves::LaunchSaves(boost::asio::io_context& io, const AgentOptions& options, std::function<void()> progress,
                         Done done)
    : io_(io),
      options_(options),
      progress_(std::move(progress)),
      done_(std::move(done)),
      timer_(io),
      children_(io),
      mailbox_(std::make_shared<Mailbox>()) {
  mailbox_->owner = this;
}

LaunchSaves::~LaunchSaves() { Stop(); }

void LaunchSaves::Start() {
  SweepCopies(options_.state_dir);
  copier_ = std::make_unique<SaveCopier>(PlaceOf(options_), kCopiesAtOnce);
}

void LaunchSaves::Stop() {
  {
    std::lock_guard lock(mailbox_->mutex);
    mailbox_->owner = nullptr;
  }
  timer_.cancel();
  children_.Stop();
  waits_.clear();
  copier_.reset();
}

bool LaunchSaves::Begin(const TaskKey& key, const std::optional<TaskUser>& user, const v1::TaskLaunch& launch) {
  const bool in_memory = !ValueOf(launch, TaskVariable::kReplicaSources).empty();
  if (launch.has_base()) {
    // Nobody who can be reached has it on a disk: neighbours may have it in memory, and the program asks them itself.
    if (in_memory && launch.base().sources().empty()) return false;
    BeginCopy(key, waits_[key], OrderOf(key, user, launch));
    return true;
  }
  // A program may name its saves as it likes ("s3://..."), and replicas may have what no folder has.
  const std::string path = ValueOf(launch, TaskVariable::kResumePath);
  if (path.empty() || path[0] != '/' || in_memory) return false;
  BeginLook(key, waits_[key], path);
  return true;
}

void LaunchSaves::BeginCopy(const TaskKey& key, Wait& wait, CopyOrder order) {
  LogInfo("event=save_wanted task={} save={} sources={}", ToString(key), Quoted(order.local), order.sources.size());
  wait.copy = copier_->Start(std::move(order), [mailbox = mailbox_, key](const Status& status) {
    std::lock_guard lock(mailbox->mutex);
    if (mailbox->owner == nullptr) return;
    boost::asio::post(mailbox->owner->io_, [mailbox, key, status] {
      if (mailbox->owner == nullptr) return;
      SaveOutcome outcome;
      outcome.missing = !status.ok();
      outcome.message = status.message();
      mailbox->owner->End(key, std::move(outcome));
    });
  });
  Watch();
}

void LaunchSaves::BeginLook(const TaskKey& key, Wait& wait, const std::string& path) {
  const PathOrder order{{{"save", path, false}}, std::nullopt};
  const auto end = [this, key, path](const std::string& why) {
    SaveOutcome outcome;
    outcome.missing = !why.empty();
    outcome.message = "its save " + path + " cannot be seen on this node: " + why;
    End(key, std::move(outcome));
  };
  const Result<ChildWork::Id> look =
      children_.Start({BesideShim(options_, "glim-paths"), "job"}, ToJson(order), kLookLimit,
                      [end, order](const ChildWork::Outcome& outcome) { end(WhyUnseen(order, outcome)); });
  if (look.ok()) {
    wait.look = *look;
  } else {
    boost::asio::post(io_, [mailbox = mailbox_, end, why = look.status().message()] {
      if (mailbox->owner != nullptr) end(why);
    });
  }
}

void LaunchSaves::Cancel(const TaskKey& key) {
  const auto it = waits_.find(key);
  if (it == waits_.end() || it->second.over || std::exchange(it->second.cancelled, true)) return;
  Wait& wait = it->second;
  if (wait.copy && !copier_->Cancel(wait.copy)) return;  // it ends, and tells
  children_.Cancel(wait.look);
  boost::asio::post(io_, [mailbox = mailbox_, key] {
    if (mailbox->owner != nullptr) mailbox->owner->End(key, {});
  });
}

void LaunchSaves::End(const TaskKey& key, SaveOutcome outcome) {
  const auto it = waits_.find(key);
  if (it == waits_.end() || std::exchange(it->second.over, true)) return;
  Wait& wait = it->second;
  outcome.stopped = wait.cancelled;
  if (wait.copy && !outcome.missing && !outcome.stopped && wait.copy->bytes > 0) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - wait.begun);
    wait.copy_ms = std::max<std::int64_t>(1, took.count());
    LogInfo("event=save_copied task={} bytes={} ms={}", ToString(key), wait.copy->bytes.load(), wait.copy_ms);
  }
  if (outcome.missing && !outcome.stopped) {
    outcome.message = "node " + options_.node_name + ": " + outcome.message;
    LogError("event=save_missing task={} error={}", ToString(key), Quoted(outcome.message));
  }
  done_(key, outcome);
}

// While something is copied, the scheduler hears how far it has got.
void LaunchSaves::Watch() {
  timer_.expires_after(kWatchPause);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    bool grown = false, copying = false;
    for (auto& [key, wait] : waits_) {
      if (!wait.copy || wait.over) continue;
      copying = true;
      const std::int64_t bytes = wait.copy->bytes;
      grown = grown || bytes != std::exchange(wait.told_bytes, bytes);
    }
    if (grown) progress_();
    if (copying) Watch();
  });
}

void LaunchSaves::Report(const TaskKey& key, v1::ObservedTask* task) const {
  const auto it = waits_.find(key);
  if (it == waits_.end() || !it->second.copy) return;
  task->set_copied_bytes(it->second.copy->bytes);
  task->set_copy_ms(it->second.copy_ms);
}

void LaunchSaves::Forget(const TaskKey& key) { waits_.erase(key); }

}  // namespace glim::nodeagent
