#include "scheduler/core/planning/save_choice.h"

#include <algorithm>
#include <string>

namespace glim::core {
namespace {

// To the fastest of the nodes that it could get now.
std::int64_t RateOf(const Pass& pass, const Field& field) {
  std::int64_t best = 0;
  for (const Candidate& c : field.candidates) {
    const std::int64_t measured = pass.state().FindNode(c.node)->copy_bytes_per_s;
    best = std::max(best, measured > 0 ? measured : pass.policy().copy_bytes_per_s);
  }
  return std::max<std::int64_t>(1, best);
}

// What it costs to get that node: whoever is interrupted for it is interrupted on all its nodes.
Duration PriceOf(const Pass& pass, const Candidate& candidate) {
  const bool interrupts = candidate.tier == Tier::kVictim || candidate.tier == Tier::kDisplaced;
  const Attempt* holder = interrupts ? pass.state().FindAttempt(candidate.holder) : nullptr;
  const auto nodes = static_cast<std::int64_t>(holder ? holder->nodes.size() : 1);
  return pass.policy().switch_cost * nodes;
}

std::string Seconds(Duration time) { return std::to_string((time.ms + 999) / 1000) + " s"; }

}  // namespace

std::optional<SaveWait> WaitForSave(const Pass& pass, const Asker& asker, Field* field) {
  const DearSave save = DearSaveOf(*asker.job);
  if (!save.node || field->candidates.empty()) return std::nullopt;
  const std::int64_t bytes = std::int64_t{1} << save.bytes_log2;
  const Duration copy = Milliseconds(bytes / RateOf(pass, *field) * 1000);
  const auto is_it = [&](const Candidate& c) { return c.node == save.node; };
  const auto now = std::find_if(field->candidates.begin(), field->candidates.end(), is_it);
  if (now != field->candidates.end()) {
    if (copy > PriceOf(pass, *now)) std::erase_if(field->candidates, [&](const Candidate& c) { return !is_it(c); });
    return std::nullopt;
  }
  const auto later =
      std::find_if(field->later.begin(), field->later.end(), [&](const auto& entry) { return is_it(entry.second); });
  if (later == field->later.end()) return std::nullopt;  // nobody can tell when
  // Others may take the node again and again: all of the waiting together must be shorter than the copy.
  const Duration waited = pass.now() - asker.job->queued_at;
  const Duration wait = later->first - pass.now();
  if (asker.starved || wait + waited >= copy) return std::nullopt;
  const Node& node = *pass.state().FindNode(save.node);
  Blocker blocker;
  blocker.kind = BlockerKind::kCheckpointOn;
  blocker.message = "its save (up to " + std::to_string(bytes >> 30) + " GiB) lies on node " + node.name +
                    ", which it can have in " + Seconds(wait) + ": a copy to another node would take " + Seconds(copy);
  blocker.have = 0;
  blocker.need = 1;
  if (node.holder) blocker.jobs = {node.holder.job};
  return SaveWait{later->first, std::move(blocker)};
}

}  // namespace glim::core
