#include "scheduler/core/planning/explain.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

std::string Nodes(std::int64_t n) { return std::to_string(n) + (n == 1 ? " node" : " nodes"); }

std::string Ids(const FieldSums& field) {
  std::string text;
  for (std::size_t i = 0; i < field.holders.size() && i < 3; ++i) {
    text += (i ? ", " : "") + std::to_string(field.holders[i].value);
  }
  if (field.holders_all > 3) text += " and " + std::to_string(field.holders_all - 3) + " more";
  return text;
}

std::int64_t ClosedTo(const AskView& ask) {
  std::int64_t nodes = 0;
  for (const auto& [rule, closed] : ask.closed) nodes += static_cast<std::int64_t>(closed);
  return nodes;
}

Blocker BusyBlocker(const Pass& pass, const Job& job, const FieldSums& field, bool one_zone) {
  const auto have = static_cast<std::int64_t>(one_zone ? field.free_in_best_zone : field.free);
  std::string where = one_zone && have > 0 ? " in zone " + pass.ZoneName(field.best_zone) : "";
  std::string message = Nodes(have) + " free" + where + ", " + std::to_string(job.spec->nodes) + " needed";
  if (!field.holders.empty()) message += "; held by job " + Ids(field);
  if (field.out.all > 0)
    message += "; " + Nodes(static_cast<std::int64_t>(field.out.all)) +
               (field.out.all == 1 ? " more takes no job: " : " more take no job: ") + OutInWords(field.out);
  if (const std::int64_t closed = ClosedTo(*field.ask); closed > 0) {
    message +=
        "; " + Nodes(closed) + (closed == 1 ? " more runs no job of this user" : " more run no job of this user");
  }
  return {BlockerKind::kNodesBusy, std::move(message), have, job.spec->nodes, field.holders};
}

// Too few nodes take jobs at all. Nothing: there are enough.
std::optional<Blocker> OutBlocker(const Pass& pass, const Job& job, const FieldSums& field) {
  if (field.out.all == 0) return std::nullopt;
  const std::size_t most = MostTogether(*field.ask, field.out, *job.spec, pass.policy(), pass.state());
  if (most >= job.spec->nodes) return std::nullopt;
  const std::size_t able = field.fitting() - field.out.all;
  std::string message = std::to_string(able) + " of " + Nodes(static_cast<std::int64_t>(field.fitting())) +
                        (field.fitting() == 1 ? " that fits takes jobs" : " that fit take jobs");
  if (able > most) message += ", and zones and links allow " + std::to_string(most) + " of them together";
  message += ", " + std::to_string(job.spec->nodes) + " needed; " + OutInWords(field.out);
  return Blocker{BlockerKind::kNodesOut, std::move(message), static_cast<std::int64_t>(most), job.spec->nodes, {}};
}

// No nodes that there are would do, whoever ends.
Blocker InfeasibleBlocker(const Job& job, const FieldSums& field, std::size_t largest) {
  const JobSpec& spec = *job.spec;
  const auto fitting = static_cast<std::int64_t>(field.fitting());
  const bool apart = fitting >= spec.nodes;  // there are enough, and no allocation has them together
  const auto have = apart ? static_cast<std::int64_t>(largest) : fitting;
  std::string message = apart ? "zones and links allow " + Nodes(have) + " together that fit what it asks"
                              : Nodes(have) + " of pool " + spec.pool + " fit what it asks";
  message += ", " + std::to_string(spec.nodes) + " needed; it waits until there are more";
  return {BlockerKind::kInfeasible, std::move(message), have, spec.nodes, {}};
}

// There would be nodes enough, but they run none of its user's.
Blocker UserBlocker(const Pass& pass, const Job& job, const FieldSums& field, std::size_t largest) {
  const Accounts& accounts = pass.state().accounts();
  const auto have = static_cast<std::int64_t>(largest);
  const std::string opener = OpenerOf(accounts, job.user);
  std::string message = field.ask->closed_words + "; " + WhyClosed(accounts, job.user) + ": " + Nodes(have) +
                        (have == 1 ? " is left for it, " : " are left for it, ") + std::to_string(job.spec->nodes) +
                        " needed; " + (opener.empty() ? "it waits until there are more" : opener);
  return {BlockerKind::kUser, std::move(message), have, job.spec->nodes, {}};
}

std::string JobsOf(const std::vector<AttemptId>& holders) {
  std::string text = holders.size() == 1 ? "job " : "jobs ";
  for (std::size_t i = 0; i < holders.size(); ++i) text += (i ? ", " : "") + std::to_string(holders[i].job.value);
  return text;
}

// Every link that it could span is taken: which these are, and who has them. Nothing: one is free.
std::optional<Blocker> LinkBlocker(const Pass& pass, const Job& job, const FieldSums& field) {
  constexpr std::size_t kLinksNamed = 3;
  Blocker blocker{BlockerKind::kLinkBusy, "", 0, 1, {}};
  std::size_t links = 0;
  const auto& zones = field.ask->by_zone;
  for (auto a = zones.begin(); a != zones.end(); ++a) {
    for (auto b = std::next(a); b != zones.end(); ++b) {
      const LinkUse use = pass.LinkUseOf(a->first, b->first, {});
      if (use.jobs_max == 0 || a->second + b->second < job.spec->nodes) continue;
      if (use.Free()) return std::nullopt;
      if (++links > kLinksNamed) continue;
      const std::string name = pass.ZoneName(a->first) + "-" + pass.ZoneName(b->first);
      blocker.message += blocker.message.empty() ? "the link " + name : "; the link " + name;
      blocker.message +=
          use.holders.empty() ? " is kept for a job that comes before it" : " is taken by " + JobsOf(use.holders);
      for (const AttemptId id : use.holders) blocker.jobs.push_back(id.job);
    }
  }
  if (links == 0) return std::nullopt;
  if (links > kLinksNamed) blocker.message += " and " + std::to_string(links - kLinksNamed) + " more links are taken";
  return blocker;
}

// The nodes that it lacks, out or busy, and the link where that keeps it as well.
void AddBusy(const Pass& pass, const Job& job, const FieldSums& field, std::vector<Blocker>& blockers) {
  const bool may_cross = field.ask->MayCross(*job.spec, pass.policy());
  const bool must_cross = field.ask->most_in_zone < job.spec->nodes;
  const bool enough = field.free >= job.spec->nodes;
  if (auto out = OutBlocker(pass, job, field)) {  // whoever ends, it waits for these
    blockers.push_back(std::move(*out));
    return;
  }
  std::optional<Blocker> link;
  if (may_cross && (must_cross || enough)) link = LinkBlocker(pass, job, field);
  const bool nodes = !link || !enough;
  if (link) blockers.push_back(std::move(*link));
  if (nodes && !(Planted(PlantedBug::kNoBlocker) && may_cross)) {
    blockers.push_back(BusyBlocker(pass, job, field, !may_cross));
  }
}

// Nodes that it could have are others', or nobody's.
Blocker ReservedBlocker(const Pass& pass, const FieldSums& field) {
  constexpr std::size_t kNamed = 2;
  const auto kept = static_cast<std::int64_t>(field.reserved);
  Blocker blocker{BlockerKind::kReserved, "", kept, 0, {}};
  bool all_to_come = true;
  for (std::size_t i = 0; i < field.reserved_by.size() && i < kNamed; ++i) {
    blocker.message += (i ? "; " : "") + field.reserved_by[i]->name + ": " + ReservedInWords(*field.reserved_by[i]);
    all_to_come = all_to_come && field.reserved_by[i]->begins_at > pass.now();
  }
  if (field.reserved_by.size() > kNamed) {
    blocker.message += " and " + std::to_string(field.reserved_by.size() - kNamed) + " more";
  }
  blocker.message = Nodes(kept) + (kept == 1 ? " is not for it: " : " are not for it: ") + blocker.message;
  if (all_to_come) blocker.message += "; until then it could do nothing useful there";
  return blocker;
}

Blocker ProtectedBlocker(const FieldSums& field, std::int64_t left_s) {
  const BlockerKind kind = field.lower_protected ? BlockerKind::kMinRun : BlockerKind::kTimeSlice;
  std::string message = field.lower_protected ? "a job of a lower class " : "a job that makes room for it ";
  const std::string left = std::to_string(left_s) + " s";
  if (field.save_awaited) {
    message += "is about to save, and leaves after that save, which is due in " + left;
  } else if (field.doubled) {
    message = "job " + std::to_string(field.doubled.value) + " makes room for it and may run for another " + left +
              ": interrupts lost it more than a quantum each, so its quantum is doubled with each";
  } else {
    message += "has just started and may run for another " + left;
  }
  return {kind, std::move(message), 0, left_s, {}};
}

}  // namespace

Blocker QuotaBlocker(const Pass& pass, const Job& job) {
  const QuotaTurn turn = pass.quota().TurnOf(job);
  const QuotaUse::Left quota = pass.quota().LeftFor(job, turn.charged);
  const std::int64_t left = quota.nodes;
  const std::int64_t need = job.spec->nodes;
  if (turn.standing == QuotaStanding::kNotAllowed) {
    return {BlockerKind::kQuota,
            "quota of " + quota.of + ": class " + ToString(turn.charged) +
                " is not allowed any more (0 nodes); the job waits until an operator changes the quota: cancel it and "
                "submit it in a lower class, or ask for more",
            0,
            need,
            {}};
  }
  return {BlockerKind::kQuota,
          "quota of " + quota.of + " at " + ToString(quota.at) + ": " + Nodes(left) + " left, " + std::to_string(need) +
              " needed; beyond it the job counts as class low, starts only on nodes that nobody else needs, and gives "
              "them back first; no start is promised",
          left,
          need,
          {}};
}

std::vector<Blocker> Explain(const Pass& pass, const Asker& asker, const FieldSums& field) {
  const Job& job = *asker.job;
  std::vector<Blocker> blockers;
  const std::size_t largest = field.ask->Largest(*job.spec, pass.policy());
  if (largest < job.spec->nodes) {
    if (field.ask->IsClosedTo(*job.spec, pass.policy())) return {UserBlocker(pass, job, field, largest)};
    return {InfeasibleBlocker(job, field, largest)};
  }
  if (!asker.may_interrupt) blockers.push_back(QuotaBlocker(pass, job));
  AddBusy(pass, job, field, blockers);
  if (field.reserved > 0) blockers.push_back(ReservedBlocker(pass, field));
  if (field.held_back > 0) {
    const auto kept = static_cast<std::int64_t>(field.held_back);
    blockers.push_back({BlockerKind::kBackfillHold, Nodes(kept) + " kept for a job that comes before it", kept, 0, {}});
  }
  if (field.protected_until) {
    const std::int64_t left_s = ((field.protected_until - pass.now()).ms + 999) / 1000;
    blockers.push_back(ProtectedBlocker(field, left_s));
  }
  return blockers;
}

}  // namespace glim::core
