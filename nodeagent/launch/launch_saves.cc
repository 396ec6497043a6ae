#include "nodeagent/launch/launch_saves.h"

#include <sys/stat.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>

#include "nodeagent/saves/fetch_token.h"
#include "nodeagent/sync/wire.h"
#include "sdk/log/log.h"

namespace glim::nodeagent {
namespace {

using std::chrono::steady_clock;

constexpr unsigned kCopiesAtOnce = 2;
constexpr std::chrono::milliseconds kWatchPause{500};
constexpr std::chrono::milliseconds kLookLimit{10'000};

std::string EnvOf(const v1::TaskLaunch& launch, const std::string& name) {
  std::string value;
  for (const v1::EnvVar& var : launch.env()) {
    if (var.name() == name) value = var.value();  // the last one counts
  }
  return value;
}

// Empty: there is something, or whether there is can only be told by the task's user.
std::string WhyUnseen(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 || errno == EACCES || errno == EPERM) return "";
  return std::strerror(errno);
}

CopyPlace PlaceOf(const AgentOptions& options) {
  CopyPlace place;
  place.state_dir = options.state_dir;
  place.node = options.node_name;
  if (options.runtime == "runc") place.owner = options.task_user;
  return place;
}

CopyOrder OrderOf(const TaskKey& key, const v1::TaskLaunch& launch) {
  CopyOrder order;
  order.job = key.job;
  order.local = launch.base().local();
  order.identity = "attempt " + std::to_string(launch.base().attempt()) + ", step " + EnvOf(launch, "GLIM_RESUME_STEP");
  order.parts = launch.base().parts();
  for (const v1::SaveSource& source : launch.base().sources()) {
    order.sources.push_back({source.node(), source.address(), source.token()});
  }
  return order;
}

}  // namespace

struct LaunchSaves::Wait {
  std::shared_ptr<CopyProgress> copy;
  std::unique_ptr<ApartCall<std::string>> look;
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
      key_(MakeSaveKey()),
      timer_(io),
      mailbox_(std::make_shared<Mailbox>()) {
  mailbox_->owner = this;
}

LaunchSaves::~LaunchSaves() { Stop(); }

Status LaunchSaves::Start() {
  SweepCopies(options_.state_dir);
  copier_ = std::make_unique<SaveCopier>(PlaceOf(options_), kCopiesAtOnce);
  if (options_.saves_listen == "none") return Status::Ok();
  SaveServerOptions server;
  const bool named = !options_.saves_listen.empty();
  server.listen = named ? options_.saves_listen : options_.address + ":0";
  server.node = options_.node_name;
  server.state_dir = options_.state_dir;
  server.key = key_;
  Result<std::unique_ptr<SaveServer>> started = SaveServer::Start(std::move(server));
  if (started.ok()) {
    server_ = std::move(started).value();
    LogInfo("event=saves_served address={}", server_->address());
    return Status::Ok();
  }
  if (named) return started.status();
  LogError(
      "event=saves_not_served error={} note=\"saves cannot be copied from this node: name an address of its own "
      "with --saves-listen\"",
      Quoted(started.status().message()));
  return Status::Ok();
}

void LaunchSaves::Stop() {
  {
    std::lock_guard lock(mailbox_->mutex);
    mailbox_->owner = nullptr;
  }
  timer_.cancel();
  waits_.clear();
  copier_.reset();
  server_.reset();
}

void LaunchSaves::Introduce(v1::Hello* hello) const {
  if (!server_) return;
  hello->set_save_address(server_->address());
  hello->set_save_key(key_);
}

bool LaunchSaves::Begin(const TaskKey& key, const v1::TaskLaunch& launch) {
  const bool in_memory = !EnvOf(launch, "GLIM_REPLICA_SOURCES").empty();
  if (launch.has_base()) {
    // Nobody who can be reached has it on a disk: neighbours may have it in memory, and the program asks them itself.
    if (in_memory && launch.base().sources().empty()) return false;
    BeginCopy(key, waits_[key], launch);
    return true;
  }
  // A program may name its saves as it likes ("s3://..."), and replicas may have what no folder has.
  const std::string path = EnvOf(launch, "GLIM_RESUME_PATH");
  if (path.empty() || path[0] != '/' || in_memory) return false;
  BeginLook(key, waits_[key], path);
  return true;
}

void LaunchSaves::BeginCopy(const TaskKey& key, Wait& wait, const v1::TaskLaunch& launch) {
  LogInfo("event=save_wanted task={} save={} sources={}", ToString(key), Quoted(launch.base().local()),
          launch.base().sources_size());
  wait.copy = copier_->Start(OrderOf(key, launch), [mailbox = mailbox_, key](const Status& status) {
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
  wait.look = std::make_unique<ApartCall<std::string>>(
      io_, [path] { return WhyUnseen(path); }, kLookLimit,
      [this, key, path](std::optional<std::string> why) {
        SaveOutcome outcome;
        outcome.missing = !why || !why->empty();
        outcome.message = "its save " + path +
                          " cannot be seen on this node: " + (why ? *why : std::string("the storage does not answer"));
        End(key, std::move(outcome));
      });
}

void LaunchSaves::Cancel(const TaskKey& key) {
  const auto it = waits_.find(key);
  if (it == waits_.end() || it->second.over || std::exchange(it->second.cancelled, true)) return;
  Wait& wait = it->second;
  if (wait.copy && !copier_->Cancel(wait.copy)) return;  // it ends, and tells
  wait.look.reset();
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

std::string BasePath(const std::string& checkpoint_folder, const v1::BaseSave& base) {
  return checkpoint_folder + "/" + base.local();
}

void SetLocalPaths(const std::string& own_folder, v1::ObservedTask* task) {
  for (v1::ObservedRank& rank : *task->mutable_ranks()) {
    for (v1::Save& save : *rank.mutable_saves()) {
      std::string path = std::filesystem::path(save.path()).lexically_normal().string();
      while (path.ends_with('/')) path.pop_back();
      if (!path.starts_with(own_folder + "/")) continue;
      const std::string local = path.substr(own_folder.size() + 1);
      if (IsLocalPath(local)) save.set_local(local);
    }
  }
}

}  // namespace glim::nodeagent
