// Long queues: one user queues hundreds of jobs, or thousands of kinds, at once; they starve; then the user takes back
// what has not started.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/sim/world/world.h"

namespace glim::sim {
namespace {

using core::JobId;

constexpr const char* kCrowdsUser = "crowd";
constexpr std::uint32_t kPortions = 12;  // submissions that make the crowd
constexpr std::uint32_t kKindsOfTeam = 4 * kGpus;
constexpr std::uint32_t kLongest = 5'000;  // a longer queue costs so much that it stays for moments only

}  // namespace

// A seed has one now and then; the starvation bound is short then, for a crowd costs by the time that it waits.
void World::PlanCrowd() {
  const bool now_and_then = crowd_rng_.OneIn(100);
  crowd_ = options_.crowd > 0 ? options_.crowd : now_and_then ? 640 : 0;
  kinds_ = std::max<std::uint32_t>(1, options_.kinds > 0 ? options_.kinds : 48);
  if (crowd_ == 0) return;
  policy_.starvation_bound = crowd_ > kLongest ? Seconds(15) : Seconds(crowd_rng_.Between(40, 90));
}

// By what is asked for that changes nothing here: every node has as many GPUs, and no gang needs two zones. Then by team.
void World::Gather() {
  for (std::uint32_t portion = 0; portion < kPortions; ++portion) {
    std::map<std::string, std::pair<core::SubmitJobs, std::vector<JobScript>>> by_team;
    for (std::uint32_t i = portion * crowd_ / kPortions; i < (portion + 1) * crowd_ / kPortions; ++i) {
      const std::uint32_t kind = i % kinds_;
      JobScript script;
      core::JobSpec& spec = script.spec;
      spec.name = "one-of-many";
      spec.workdir = "/";
      spec.run = "simulated";
      spec.priority = i % 3 == 0 ? core::PriorityClass::kLow : core::PriorityClass::kNormal;
      spec.nodes = 1 + i % 3;
      spec.gpus_per_node = kGpus - kind % kGpus;
      spec.placement.leaf = kind / kGpus % 2 == 0 ? core::LeafPolicy::kPack : core::LeafPolicy::kAny;
      spec.placement.cross_zone = kind / (2 * kGpus) % 2 == 0 ? core::CrossZone::kAuto : core::CrossZone::kNever;
      script.steps = crowd_rng_.Between(2, 30);
      script.step_time = Seconds(crowd_rng_.Between(1, 4));
      script.save_time = Milliseconds(crowd_rng_.Between(50, 3000));
      pools_.Place(spec);
      const std::uint32_t team = kind / kKindsOfTeam;
      auto& [submit, scripts] = by_team[team == 0 ? "" : "team-" + std::to_string(team)];
      submit.specs.push_back(spec);
      scripts.push_back(std::move(script));
    }
    for (auto& [team, submission] : by_team) {
      submission.first.user = kCrowdsUser;
      submission.first.team = team;
      next_scripts_ = std::move(submission.second);
      Post(std::move(submission.first));
      if (!team.empty() && !down_) --report_.events;  // the users of the seed have their events beside these
    }
  }
  const Duration stays = policy_.starvation_bound + Seconds(crowd_ > kLongest ? 5 : crowd_rng_.Between(20, 60));
  timeline_.After(stays, [this] { Disperse(); });
}

// Until none of them waits: what was asked of a scheduler that died may not have happened.
void World::Disperse() {
  const TimePoint starved_since = SchedulerNow() - policy_.starvation_bound;
  std::uint64_t starved = 0;
  for (const auto& [shape, waiting] : state_->index().waiting) {
    const auto end = waiting.upper_bound({starved_since, JobId(UINT64_MAX)});
    starved += static_cast<std::uint64_t>(std::distance(waiting.begin(), end));
  }
  report_.starved_most = std::max(report_.starved_most, starved);
  report_.kinds_most = std::max<std::uint64_t>(report_.kinds_most, state_->index().waiting.size());
  std::vector<core::CancelJob> cancels;
  state_->tables().jobs.ForEach([&](JobId id, const core::Job& job) {
    if (job.user == kCrowdsUser && job.state == core::JobState::kQueued) cancels.push_back({id, job.user});
  });
  if (cancels.empty()) return;
  for (core::CancelJob& cancel : cancels) {
    Post(std::move(cancel));
    if (!down_) --report_.events;  // the users of the seed have their events beside these
  }
  timeline_.After(Seconds(30), [this] { Disperse(); });
}

}  // namespace glim::sim
