#include "scheduler/core/lifecycle/learn.h"

#include <vector>

#include "scheduler/core/model/attempt_gpus.h"

namespace glim::core {

void LearnShare(Changes& changes, const Attempt& ended) {
  if (!ended.started_at) return;
  const Job& job = changes.job(ended.id.job);
  const std::int64_t gpus = GpusKeptBy(changes.state(), ended);
  const TeamService& known = changes.state().index().team_service;
  const ShareId id{job.team, job.user};
  if (const auto least = known.Surplus(id)) changes.Erase<Share>(*least);
  changes.Write(known.With(id, gpus, ended.started_at, ended.ended_at));
}

void LearnLife(Changes& changes, const Job& ended) {
  if (ended.service.ms <= 0 || ended.state == JobState::kCancelled) return;
  const Kind kind = KindOf(ended);
  const ServiceHistory& known = changes.state().index().history;
  for (const LifeTableId& id : known.Surplus(kind)) changes.Erase<LifeTable>(id);
  for (LifeTable& table : known.With(kind, ended.service, ended.ended_at)) changes.Write(std::move(table));
}

void LearnFromOldRows(Changes& changes) {
  const Tables& tables = changes.state().tables();
  if (!tables.shares.empty() || !tables.life_tables.empty()) return;
  std::vector<Attempt> attempts;
  tables.attempts.ForEach([&](const AttemptId&, const Attempt& row) {
    if (row.state == AttemptState::kEnded) attempts.push_back(row);
  });
  for (const Attempt& attempt : attempts) LearnShare(changes, attempt);
  const auto finished = changes.state().index().kept.ended.by_end;  // by end, oldest first
  for (const auto& [ended_at, id] : finished) LearnLife(changes, changes.job(id));
}

}  // namespace glim::core
