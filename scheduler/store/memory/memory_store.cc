#include "scheduler/store/memory/memory_store.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/store/codec/ended_figures.h"
#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/codec/state_loader.h"
#include "scheduler/store/contract/hardware_history.h"
#include "scheduler/store/contract/store_limits.h"

namespace glim::store {

Result<std::unique_ptr<core::ClusterState>> MemoryStore::Load() {
  StateLoader loader;
  for (const auto& [key, body] : data_->rows) {
    if (Status s = StateLoader::CheckKind(key.first); !s.ok()) return s;
  }
  for (const std::string_view kind : StateLoader::Kinds()) {
    for (auto row = data_->rows.lower_bound({std::string(kind), ""});
         row != data_->rows.end() && row->first.first == kind; ++row) {
      if (Status s = loader.Add(kind, row->first.second, row->second); !s.ok()) return s;
    }
  }
  return std::move(loader).Finish(data_->ids);
}

Status MemoryStore::Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations,
                           const std::vector<EndedJob>& ended, const std::vector<AuditRow>& audit) {
  if (epoch != data_->epoch && !core::Planted(core::PlantedBug::kStaleEpoch)) return StaleEpoch(epoch, data_->epoch);
  if (Status s = CheckAuditIsNew(audit); !s.ok()) return s;
  CommitBatch batch = Coalesce(mutations);
  for (DeletedRow& row : batch.deleted) data_->rows.erase({std::string(row.kind), std::move(row.key)});
  for (StoredRow& row : batch.rows) data_->rows[{std::string(row.kind), std::move(row.key)}] = std::move(row.body);
  for (const AuditRow& row : audit) data_->audit.emplace(row.seq, row);
  for (const core::HistoryEntry* entry : batch.history) {
    core::HistoryEntry clean = *entry;
    clean.text = CleanText(entry->text);
    data_->history.emplace(++data_->last_history, EncodeHistory(clean));
  }
  for (const EndedJob& job : ended) data_->ended_jobs[job.id] = EncodeEndedJob(job);
  if (batch.ids) {
    data_->ids.next_job = std::max(data_->ids.next_job, batch.ids->next_job);
    data_->ids.next_node = std::max(data_->ids.next_node, batch.ids->next_node);
  }
  return Status::Ok();
}

Result<std::vector<Store::StoredHistory>> MemoryStore::History(const HistoryQuery& query) {
  const std::size_t most = std::min(query.limit, kHistoryMax);
  std::vector<StoredHistory> found;
  for (auto it = data_->history.upper_bound(query.after); it != data_->history.end() && found.size() < most; ++it) {
    auto entry = DecodeHistory(it->first, it->second);
    if (!entry.ok()) return entry.status();
    if (query.hardware && !IsOfHardware(*entry)) continue;
    if (query.job && entry->job != query.job) continue;
    if (query.node && entry->node != query.node) continue;
    if (query.states != (entry->kind == core::HistoryKind::kStatesChanged)) continue;
    if (query.since && entry->at < query.since) continue;
    found.push_back({it->first, std::move(entry).value()});
  }
  return found;
}

Result<std::uint64_t> MemoryStore::LastHistory() { return data_->history.empty() ? 0 : data_->history.rbegin()->first; }

Result<std::vector<EndedJob>> MemoryStore::AllEndedJobs() const {
  std::vector<EndedJob> all;
  for (const auto& [id, body] : data_->ended_jobs) {
    auto job = DecodeEndedJob(id, body);
    if (!job.ok()) return job.status();
    all.push_back(std::move(job).value());
  }
  std::sort(all.begin(), all.end(), [](const EndedJob& a, const EndedJob& b) {
    return std::pair(a.ended_at, a.id) > std::pair(b.ended_at, b.id);
  });
  return all;
}

Result<std::vector<EndedJob>> MemoryStore::EndedJobs(const EndedJobsQuery& query) {
  auto found = AllEndedJobs();
  if (!found.ok()) return found.status();
  std::erase_if(*found, [&](const EndedJob& job) {
    const auto other = [](const std::string& wanted, std::string_view is) { return !wanted.empty() && is != wanted; };
    return other(query.user, job.user) || other(query.state, core::WordOf(job.state)) || other(query.pool, job.pool) ||
           other(query.team, job.team) || other(query.priority, core::WordOf(job.priority)) ||
           job.name.find(query.name) == std::string::npos || job.ended_at < query.since ||
           std::pair(job.ended_at, job.id) >= std::pair(query.before_at, query.before_id);
  });
  found->resize(std::min({found->size(), query.limit, kHistoryMax}));
  return found;
}

Status MemoryStore::EachEnded(const EndedFiguresQuery& query, const std::function<void(const EndedFigures&)>& each) {
  auto found = AllEndedJobs();
  if (!found.ok()) return found.status();
  for (auto job = found->rbegin(); job != found->rend(); ++job) {
    if (job->ended_at >= query.since && job->ended_at < query.until) each(FiguresOf(*job));
  }
  return Status::Ok();
}

Result<std::size_t> MemoryStore::PruneHistory(std::uint64_t epoch, TimePoint before) {
  if (epoch != data_->epoch) return StaleEpoch(epoch, data_->epoch);
  std::size_t pruned = 0;
  for (auto it = data_->history.begin(); it != data_->history.end() && pruned < kPruneMax;) {
    auto entry = DecodeHistory(it->first, it->second);
    if (!entry.ok()) return entry.status();
    if (entry->at < before) {
      it = data_->history.erase(it);
      ++pruned;
    } else {
      ++it;
    }
  }
  // Of ended jobs the oldest go first, as everywhere.
  auto ended = AllEndedJobs();
  if (!ended.ok()) return ended.status();
  std::size_t jobs = 0;
  for (auto job = ended->rbegin(); job != ended->rend() && job->ended_at < before && jobs < kPruneMax; ++job, ++jobs) {
    data_->ended_jobs.erase(job->id);
  }
  return pruned + jobs;
}

Result<std::size_t> MemoryStore::TrimHistory(std::uint64_t epoch, const HistoryBounds& bounds) {
  if (epoch != data_->epoch) return StaleEpoch(epoch, data_->epoch);
  std::size_t gone = 0, bytes = 0;
  for (const auto& [seq, body] : data_->history) bytes += body.size();
  const std::int64_t left =
      bounds.EntriesLeft(static_cast<std::int64_t>(bytes / std::max<std::size_t>(1, data_->history.size())));
  for (; std::ssize(data_->history) > left && gone < kPruneMax; ++gone) data_->history.erase(data_->history.begin());
  auto ended = AllEndedJobs();
  if (!ended.ok()) return ended.status();
  for (std::size_t jobs = 0; ended->size() > bounds.ended_jobs_max && jobs < kPruneMax; ++jobs, ++gone) {
    data_->ended_jobs.erase(ended->back().id);
    ended->pop_back();
  }
  return gone;
}

Result<std::string> MemoryStore::Mark(const std::string& name) {
  const auto it = data_->marks.find(name);
  return it == data_->marks.end() ? std::string() : it->second;
}

Status MemoryStore::PutMark(std::uint64_t epoch, const std::string& name, const std::string& mark) {
  if (epoch != data_->epoch) return StaleEpoch(epoch, data_->epoch);
  data_->marks[name] = CleanText(mark);
  return Status::Ok();
}

Status MemoryStore::ResetEpoch(std::uint64_t epoch, std::uint64_t to) {
  if (epoch != data_->epoch) return StaleEpoch(epoch, data_->epoch);
  data_->epoch = to;
  return Status::Ok();
}

Result<std::string> MemoryStore::ClusterId(const std::string& if_new) {
  if (data_->cluster_id.empty()) data_->cluster_id = if_new;
  return data_->cluster_id;
}

}  // namespace glim::store
