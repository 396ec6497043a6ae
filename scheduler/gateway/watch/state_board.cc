#include "scheduler/gateway/watch/state_board.h"

#include <algorithm>
#include <utility>

#include "glim/v1/client_api.pb.h"
#include "scheduler/gateway/answers.h"
#include "scheduler/gateway/watch/table_rows.h"
#include "scheduler/server/convert/row_convert.h"
#include "scheduler/server/door/private_parts.h"

namespace glim::gateway {

std::string JobDocument(const server::Snapshot& snapshot, core::JobId id, bool whole, TimePoint now) {
  v1::GetJobResponse response;
  if (const core::Job* const job = snapshot.tables.jobs.Find(id)) {
    server::JobToProto(snapshot, *job, server::AttemptsShown::kAll, now, response.mutable_job());
    if (!whole) server::RemovePrivateParts(response.mutable_job());
  }
  return OneLine(Document(response));
}

// A new channel begins a round of its own: whoever has seen an earlier one may have missed changes of this topic.
void StateBoard::Join(const Key& key) {
  auto at = channels_.find(key);
  if (at == channels_.end()) at = channels_.try_emplace(key, ++round_).first;
  ++at->second.readers;
}

void StateBoard::Leave(const Key& key, TimePoint now) {
  const auto at = channels_.find(key);
  if (at == channels_.end() || at->second.readers == 0) return;
  --at->second.readers;
  at->second.left_at = now;
}

void StateBoard::Forget(TimePoint now) {
  std::erase_if(channels_,
                [&](const auto& entry) { return entry.second.readers == 0 && now - entry.second.left_at >= kKept; });
  if (channels_.empty()) snapshot_ = nullptr;
}

std::set<core::JobId> StateBoard::ChangedJobs(const server::Snapshot& before, const server::Snapshot& after) const {
  std::set<core::JobId> changed;
  const bool any = std::any_of(channels_.begin(), channels_.end(),
                               [](const auto& entry) { return entry.first.topic.kind == TopicKind::kJob; });
  if (!any) return changed;
  const auto note = [&](core::JobId id, const auto*, const auto*) { changed.insert(id); };
  const core::Tables& old = before.tables;
  const core::Tables& now = after.tables;
  core::CowTable<core::JobId, core::Job>::ForEachChange(old.jobs, now.jobs, note);
  const auto of_attempt = [&](core::AttemptId id, const auto*, const auto*) { changed.insert(id.job); };
  core::CowTable<core::AttemptId, core::Attempt>::ForEachChange(old.attempts, now.attempts, of_attempt);
  const auto of_task = [&](core::TaskId id, const auto*, const auto*) { changed.insert(id.attempt.job); };
  core::CowTable<core::TaskId, core::Task>::ForEachChange(old.tasks, now.tasks, of_task);
  return changed;
}

// Its words may say how much time is left: the same ones are no change, and are not sent.
bool StateBoard::TakeJob(const Key& key, Channel* channel, std::uint64_t round, TimePoint now) {
  std::string text = EventText(NameOf(key.topic), JobDocument(*snapshot_, core::JobId(key.topic.job), key.whole, now));
  if (channel->document && text == *channel->document) return false;
  channel->document = MakeFrame(std::move(text));
  channel->changed = round;
  return true;
}

std::string StateBoard::ChangesOf(const Key& key, const server::Snapshot& before, const server::Snapshot& after) const {
  if (key.topic.kind == TopicKind::kQueue) return QueueChanges(before, after);
  return NodesChanges(before, after, key.whole);
}

bool StateBoard::Take(const server::SnapshotPtr& snapshot, TimePoint now) {
  Forget(now);
  if (channels_.empty() || snapshot == snapshot_) return false;
  const server::SnapshotPtr before = std::exchange(snapshot_, snapshot);
  if (!before) return true;
  const std::uint64_t round = round_ + 1;
  const std::set<core::JobId> jobs = ChangedJobs(*before, *snapshot);
  const bool planned = before->verdicts != snapshot->verdicts;
  bool any = false;
  for (auto& [key, channel] : channels_) {
    if (key.topic.kind != TopicKind::kJob) {
      const std::string text = ChangesOf(key, *before, *snapshot);
      if (text.empty()) continue;
      channel.ring.Add(round, MakeFrame(EventText(NameOf(key.topic), text)));
      any = true;
      continue;
    }
    const core::JobId id(key.topic.job);
    const core::Job* const job = snapshot->tables.jobs.Find(id);
    const bool other_reasons = planned && job && job->state == core::JobState::kQueued;
    if (channel.document && !jobs.contains(id) && !other_reasons) continue;
    if (TakeJob(key, &channel, round, now)) any = true;
  }
  if (any) round_ = round;
  return any;
}

void StateBoard::Bring(const Key& key, std::uint64_t seen, TimePoint now, std::vector<Frame>* out) {
  const auto at = channels_.find(key);
  if (at == channels_.end() || !snapshot_) return;
  Channel& channel = at->second;
  if (key.topic.kind == TopicKind::kJob) {
    if (!channel.document) TakeJob(key, &channel, round_, now);
    if (seen == 0 || seen < channel.changed) out->push_back(channel.document);
    return;
  }
  if (channel.ring.NeedsState(seen)) {
    std::vector<Frame> parts;
    const bool queue = key.topic.kind == TopicKind::kQueue;
    for (const std::string& part : queue ? QueueState(*snapshot_) : NodesState(*snapshot_, key.whole)) {
      parts.push_back(MakeFrame(EventText(NameOf(key.topic), part)));
    }
    channel.ring.SetState(round_, std::move(parts));
  }
  channel.ring.From(seen, out);
}

}  // namespace glim::gateway
