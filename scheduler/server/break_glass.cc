#include "scheduler/server/break_glass.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "scheduler/identity/seal.h"
#include "scheduler/server/listen/control_socket.h"
#include "scheduler/server/listen/first_start.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/store/open_store.h"

namespace glim::server {
namespace {

Result<std::unique_ptr<SchedulerLoop>> OpenAlone(const Config& config) {
  auto store = store::OpenStore(config.store);
  if (!store.ok()) return store.status();
  SchedulerLoop::Options options;
  options.policy = config.policy;
  options.clock = MonotonicWallClock();
  options.history_kept = config.history_kept;
  options.history = {config.history_max, config.ended_jobs_max, std::int64_t{config.history_mib_max} << 20};
  options.audit_kept = config.audit_kept;
  options.epoch_at_least = static_cast<std::uint64_t>(std::max<std::int64_t>(0, options.clock().ms / 1000));
  options.on_fatal = [](const Status&) {};
  auto loop = SchedulerLoop::Open(std::move(options), std::move(store).value());
  if (loop.ok()) (*loop)->Start();
  return loop;
}

Status OtherLeader() {
  return Status(StatusCode::kFailedPrecondition,
                "no scheduler runs on this host, and one on another host may lead: this command would take its place")
      .WithReason("OTHER_LEADER")
      .WithField("store")
      .WithFix(
          "run it on the host of the scheduler that leads; or stop that one, or add --take-leadership: it then "
          "begins anew by itself");
}

Result<std::string> NewKeys(const Config& config, const std::string& peer) {
  auto loop = OpenAlone(config);
  if (!loop.ok()) return loop.status();
  const Status forgotten = ForgetKeys(loop->get(), peer);
  (*loop)->Stop();
  if (!forgotten.ok()) return forgotten;
  return std::string();
}

}  // namespace

Result<std::string> RunBreakGlass(const Config& config, const BreakGlass& order) {
  if (config.insecure_without_identity) {
    return Status(StatusCode::kFailedPrecondition, "this scheduler runs without identity: there are no tokens")
        .WithReason("NO_IDENTITY")
        .WithField("insecure_without_identity");
  }
  const std::string folder = StateFolder(config), path = config.key_file;
  const std::string peer = "local: uid " + std::to_string(::geteuid());
  const bool alone = config.store.starts_with("sqlite:") || order.take_leadership;
  if (order.new_keys) return alone ? NewKeys(config, peer) : OtherLeader();
  const auto key = identity::ReadClusterKey(path);
  if (!key.ok()) {
    if (key.status().code() != StatusCode::kNotFound) return key.status();
    return Status(StatusCode::kFailedPrecondition, "there is no key file " + path)
        .WithReason("KEY_FILE_LOST")
        .WithField("key_file")
        .WithFix(
            "put a copy of it there. If there is none left, add --new-keys: tokens stay, nodes have to be invited "
            "again, users' secrets are lost");
  }
  const TimePoint wall{
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count()};
  auto asked = AskControl(folder, *key, order.user, wall);
  if (asked.ok() || asked.status().code() != StatusCode::kNotFound) return asked;
  if (!alone) return OtherLeader();
  auto loop = OpenAlone(config);
  if (!loop.ok()) return loop.status();
  // That it opens what is sealed there is the proof.
  const SnapshotPtr snapshot = (*loop)->snapshot();
  const core::SealedRow* const sealed = snapshot->tables.identity->sealed.Find(identity::kAuthorityRow);
  Result<std::string> token = Status(StatusCode::kFailedPrecondition, "this store has had no first start with identity")
                                  .WithReason("NO_IDENTITY")
                                  .WithFix("start glim-scheduler: it makes the first token by itself");
  if (sealed != nullptr) {
    const auto opened = identity::Unseal(*key, "sealed", sealed->name, sealed->bytes);
    token = opened.ok() ? MakeBreakGlassToken(loop->get(), order.user, OwnUserName(), peer) : opened.status();
  }
  (*loop)->Stop();
  return token;
}

}  // namespace glim::server
