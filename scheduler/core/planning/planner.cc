#include "scheduler/core/planning/planner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "scheduler/core/model/account_access.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/planning/explain.h"
#include "scheduler/core/planning/gang_preemption.h"
#include "scheduler/core/planning/move.h"
#include "scheduler/core/planning/pass.h"
#include "scheduler/core/planning/save_choice.h"
#include "scheduler/core/planning/trace_words.h"

namespace glim::core {
namespace {

constexpr char kBehindDisplaced[] = "a job that comes before it has just lost its claim, and has the next turn";

using Queue = std::set<QueueKey>;
using Waiting = std::set<std::pair<TimePoint, JobId>>;

// A shape's queue from some job on, in the order of submission, or its starved ones from some on, who waited longest in
// front; waiting for its turn in the pass. Jobs of a shape are told alike, and so 100,000 that starve count as one.
struct Head {
  PriorityClass priority;   // that counts: of what is beyond a quota, low
  bool borrows;             // it comes behind all of its class
  TimePoint starved_since;  // 0: not
  Urgency urgency;
  QueueKey key;
  const Shape* shape = nullptr;
  Queue::const_iterator at, end;             // not of starved ones
  Waiting::const_iterator waits, waits_end;  // of these

  // 1. Order. The top of the heap is planned first.
  bool operator<(const Head& other) const {
    const auto order = [](const Head& h) {
      const bool starves = static_cast<bool>(h.starved_since);
      return std::tuple(h.borrows, !starves, h.starved_since, h.key.not_swap_aborted, h.urgency, h.key);
    };
    return priority != other.priority ? priority < other.priority : order(other) < order(*this);
  }
};

class Planner {
 public:
  Planner(const ClusterState& state, const Policy& policy, TimePoint now, bool shortcuts, PassTrace* trace = nullptr)
      : state_(state), shortcuts_(shortcuts), pass_(state, policy, now, trace) {}

  Plan Make() {
    if (!pass_.reserved().empty()) TakeReserved();
    KeepPlaces(pass_);
    for (const auto& [shape, queue] : state_.index().queue) {
      if (!IsBarred(shape)) Push(shape, queue.begin(), queue.end());
    }
    for (const auto& [shape, waiting] : state_.index().waiting) {
      if (IsBarred(shape)) continue;
      PushStarved(shape, waiting.begin(), waiting.end());
      if (Planted(PlantedBug::kStarvedCutOff) && !heads_.empty() && heads_.top().starved_since) break;
    }
    while (!heads_.empty()) {
      const Head head = heads_.top();
      heads_.pop();
      TakeTurn(head);
    }
    for (const auto& [pool, priority] : blocked_) LookAgain(pass_.NextTurn(pool, priority));
    plan_.borrowed = pass_.quota().Changed();
    plan_.verdicts = std::move(verdicts_);
    return std::move(plan_);
  }

 private:
  // All that an answer reads, but for the number of nodes and the urgency. In a pass there is only ever less to have,
  // and whoever comes earlier preempts all that a later one does: what failed for an asker fails for whoever asks the
  // same behind it for as many nodes. (A move depends on more, and a displaced claim may give up a link: see TryStart.)
  using Question =
      std::tuple<std::uint32_t, PriorityClass, bool, bool, bool, bool, bool, TimePoint, DearSave,  // first: AskView
                 std::vector<ReservedFor>>;
  Question QuestionOf(const Asker& asker) {
    const JobSpec& spec = *asker.job->spec;
    const AskView& ask = pass_.AskOf(*asker.job);
    return {ask.number,
            asker.priority,
            asker.starved,
            asker.may_interrupt,
            asker.swap_aborted,
            MayHoldBack(pass_, asker),
            ask.MayCross(spec, pass_.policy()),
            pass_.HoldPassed(*asker.job),
            DearSaveOf(*asker.job),
            pass_.ReservedStanding(*asker.job)};
  }

  // Who leaves for a reservation leaves for nobody else.
  void TakeReserved() {
    plan_.reserved = pass_.reserved().changed();
    plan_.leaves = pass_.reserved().leaves();
    LookAgain(pass_.reserved().look_again());
    for (const ReservedLeave& leave : plan_.leaves) {
      pass_.SpeakFor(state_.FindJob(leave.attempt.job)->spec->pool, leave.attempt);
    }
  }

  // Its user is disabled, or its team may not use the pool: that is its blocker, and it has no turn.
  bool IsBarred(const Shape& shape) {
    auto blocker = BarBlocker(state_.accounts(), pass_.policy(), shape.user, shape.team, shape.pool);
    if (!blocker) return false;
    verdicts_->try_emplace(shape, std::vector{std::move(*blocker)});
    return true;
  }

  void Push(const Shape& shape, Queue::const_iterator at, Queue::const_iterator end) {
    while (at != end && started_.contains(at->id)) ++at;
    if (at == end) return;
    const QuotaTurn turn = pass_.quota().TurnOf(shape);
    const bool borrows = turn.standing != QuotaStanding::kWithin;
    heads_.push({turn.order, borrows, {}, pass_.UrgencyOf(shape), *at, &shape, at, end, {}, {}});
  }

  void PushStarved(const Shape& shape, Waiting::const_iterator at, Waiting::const_iterator end) {
    while (at != end && started_.contains(at->second)) ++at;
    if (at == end || at->first > pass_.now() - pass_.policy().starvation_bound) return;
    const QuotaTurn turn = pass_.quota().TurnOf(shape);
    if (turn.standing != QuotaStanding::kWithin) return;  // no start is promised to them
    const QueueKey key = QueueKeyOf(*state_.FindJob(at->second));
    heads_.push({turn.order, false, at->first, pass_.UrgencyOf(shape), key, &shape, {}, {}, at, end});
  }

  void TakeTurn(const Head& head) {
    if (started_.contains(head.key.id)) return Advance(head);
    const Job& job = *state_.FindJob(head.key.id);
    const QuotaTurn turn = pass_.quota().TurnOf(job);  // 2. Quota
    const bool within = turn.standing == QuotaStanding::kWithin;
    PassTrace* const trace = pass_.TraceOf(job);
    ++turns_;
    if (turn.order != head.priority ||
        head.borrows == within) {  // an earlier start used up the class that it was to get
      return Advance(head);
    }
    if (turn.standing == QuotaStanding::kNotAllowed) {
      verdicts_->try_emplace(*head.shape, std::vector{QuotaBlocker(pass_, job)});
      if (trace) TellQuota(trace, pass_, job);
      return;
    }
    if (ComesBehindDisplaced(job.spec->pool, turn.order)) {
      verdicts_->try_emplace(*head.shape, std::vector{Blocker{BlockerKind::kNotPlanned, kBehindDisplaced, 0, 0, {}}});
      return;
    }
    const Asker asker{
        &job, turn.order, head.urgency, static_cast<bool>(head.starved_since), within, !head.key.not_swap_aborted};
    std::vector<Blocker> blockers;
    if (trace) TellTurn(trace, asker, turns_, plan_.starts);
    if (trace) TellQuota(trace, pass_, job);
    if (auto start = TryStart(asker, blockers)) {
      started_.insert(job.id);
      if (trace && trace->job() != job.id) trace->Forget();
      if (trace) TellStart(trace, state_, *start);
      NoteDisplaced(*start, job.spec->pool);
      plan_.starts.push_back(std::move(*start));
      return Advance(head);
    }
    blocked_.insert({job.spec->pool, turn.order});
    if (trace) TellBlockers(trace, blockers);
    // For all of the shape; what a starved one was told holds for those behind it.
    verdicts_->try_emplace(*head.shape, std::move(blockers));
  }

  // A job that loses its claim in this pass is not in the queue that the pass goes through. The next pass, which
  // follows at once, has the job at its place: until then nothing is given to those who may come behind it.
  bool ComesBehindDisplaced(const std::string& pool, PriorityClass order) const {
    const auto displaced = displaced_.find(pool);
    return displaced != displaced_.end() && order <= displaced->second;
  }

  void NoteDisplaced(const PlannedStart& start, const std::string& pool) {
    for (const AttemptId id : start.displaced) {
      const Attempt& attempt = *state_.FindAttempt(id);
      PriorityClass& highest = displaced_.try_emplace(pool, PriorityClass::kLow).first->second;
      highest = std::max(highest, attempt.borrowed ? PriorityClass::kLow : attempt.charged);
    }
  }

  void Advance(const Head& head) {
    if (head.starved_since) {
      PushStarved(*head.shape, head.waits, head.waits_end);
    } else {
      Push(*head.shape, head.at, head.end);
    }
  }

  std::optional<PlannedStart> TryStart(const Asker& asker, std::vector<Blocker>& blockers) {
    const JobSpec& spec = *asker.job->spec;
    PassTrace* const trace = pass_.TraceOf(*asker.job);
    if (pass_.AskOf(*asker.job).Largest(spec, pass_.policy()) < spec.nodes) return Refuse(asker, blockers);
    const bool holds_back = asker.may_interrupt && pass_.AtMost(asker, true) >= spec.nodes;
    const Question question = QuestionOf(asker);
    const bool refused = (pass_.AtMost(asker, false) < spec.nodes && !holds_back) || IsRefused(question, spec.nodes);
    if (refused && shortcuts_ && !trace) return Refuse(asker, blockers);
    Field field = pass_.FieldFor(asker);
    if (trace) TellField(trace, pass_, asker, field);
    if (auto wait = WaitForSave(pass_, asker, &field)) {
      LookAgain(wait->until);
      blockers.push_back(std::move(wait->blocker));
      return std::nullopt;
    }
    PlannedStart start;
    start.quantum = QuantumOf(state_, pass_.policy(), *asker.job, asker.starved);
    if (Planted(PlantedBug::kQuantumWithoutEnd)) start.quantum = Hours(24);
    start.nodes = PlaceWithoutVictims(pass_, spec, field);  // 3. Place, 4. Cross
    if (trace) start.nodes.empty() ? TellLinks(trace, pass_, spec, field) : TellPlaced(trace, pass_, start.nodes);
    moves_considered_ = false;
    if (start.nodes.empty() && asker.may_interrupt) MakeRoom(asker, field, start);
    if (start.nodes.empty()) {
      LookAgain(field.protected_until);
      blockers = Explain(pass_, asker, field);  // 8. Explain
      if (trace && (refused || !holds_back)) {
        TellNoHold(trace, holds_back ? "who came before it asks for the same, and stands for both"
                                     : "too few nodes come free for it, even when all protections have ended");
      }
      if (refused) return std::nullopt;
      if (holds_back) MaybeHoldBack(pass_, asker, field);  // 7. Hold back
      // What a move is worth depends on the nodes and on whose they are to be: nobody is refused by that for others.
      if (!moves_considered_) refused_nodes_[question] = spec.nodes;
      return std::nullopt;
    }
    start.job = asker.job->id;
    start.charged = pass_.quota().TurnOf(*asker.job).charged;
    start.borrowed = !asker.may_interrupt;
    pass_.Take(start, *asker.job);
    const auto crosses = [&](AttemptId id) { return Crosses(*state_.FindAttempt(id)); };
    if (std::any_of(start.displaced.begin(), start.displaced.end(), crosses)) refused_nodes_.clear();
    return start;
  }

  void MakeRoom(const Asker& asker, const Field& field, PlannedStart& start) {
    auto preemption = CheapestGangPreemption(pass_, asker, field);  // 5. Interrupt
    std::optional<Move> move;                                       // 6. Move
    // Whoever has nothing but the link in the way is better off where it can go on.
    if (!preemption || preemption->for_link) {
      move = CheapestMove(pass_, asker, field, start.quantum, &moves_considered_);
    }
    if (move) {
      start.nodes = std::move(move->nodes);
      start.victims = {move->moved};
      start.moved = move->moved;
    } else if (preemption) {
      start.nodes = std::move(preemption->nodes);
      start.victims = std::move(preemption->choice.victims);
      start.displaced = std::move(preemption->displaced);
    }
  }

  // 8. Explain. Shapes that differ in what the words do not say share the sums, and of as many nodes the words.
  std::nullopt_t Refuse(const Asker& asker, std::vector<Blocker>& blockers) {
    const Question question = QuestionOf(asker);
    auto& [starts, sums] = sums_[question];
    const std::uint64_t starts_now = pass_.PoolOf(asker.job->spec->pool).starts;
    if (starts != starts_now) {
      starts = starts_now;
      sums = pass_.FieldSumsFor(asker);
      LookAgain(sums.protected_until);
    }
    if (!asker.may_interrupt ||
        pass_.AskOf(*asker.job).IsClosedTo(*asker.job->spec, pass_.policy())) {  // its own quota is named, or its user
      blockers = Explain(pass_, asker, sums);
      return std::nullopt;
    }
    auto& [at, words] = words_[{question, asker.job->spec->nodes}];
    if (at != pass_.changes()) {
      at = pass_.changes();
      words = Explain(pass_, asker, sums);
    }
    blockers = words;
    return std::nullopt;
  }

  bool IsRefused(const Question& question, std::uint32_t nodes) const {
    const auto it = refused_nodes_.find(question);
    return it != refused_nodes_.end() && nodes >= it->second;
  }

  void LookAgain(TimePoint at) {
    if (at > pass_.now() && (!plan_.look_again || at < plan_.look_again)) plan_.look_again = at;
  }

  const ClusterState& state_;
  const bool shortcuts_;
  Pass pass_;
  bool moves_considered_ = false;  // for the present asker
  Plan plan_;
  std::shared_ptr<Verdicts> verdicts_ = std::make_shared<Verdicts>();
  std::priority_queue<Head> heads_;
  std::set<JobId> started_;
  std::map<std::string, PriorityClass> displaced_;  // by pool: the highest class of a job that lost its claim
  std::set<std::pair<std::string, PriorityClass>> blocked_;
  std::size_t turns_ = 0;
  std::map<Question, std::uint32_t> refused_nodes_;
  std::map<Question, std::pair<std::uint64_t, FieldSums>> sums_;  // with the starts
  std::map<std::pair<Question, std::uint32_t>, std::pair<std::uint64_t, std::vector<Blocker>>> words_;  // and changes
};

}  // namespace

Plan MakePlan(const ClusterState& state, const Policy& policy, TimePoint now) {
  return Planner(state, policy, now, true).Make();
}

Plan MakePlanTracing(const ClusterState& state, const Policy& policy, TimePoint now, PassTrace* trace) {
  return Planner(state, policy, now, true, trace).Make();
}

Plan MakePlanAskingEverybody(const ClusterState& state, const Policy& policy, TimePoint now) {
  return Planner(state, policy, now, false).Make();
}

}  // namespace glim::core
