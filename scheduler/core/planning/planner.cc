#include "scheduler/core/planning/planner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "scheduler/core/model/account_access.h"
#include "scheduler/core/model/budget_use.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/planning/answers.h"
#include "scheduler/core/planning/explain.h"
#include "scheduler/core/planning/gang_preemption.h"
#include "scheduler/core/planning/move.h"
#include "scheduler/core/planning/pass.h"
#include "scheduler/core/planning/save_choice.h"
#include "scheduler/core/planning/trace_words.h"
#include "scheduler/core/planning/turn_queue.h"

namespace glim::core {
namespace {

constexpr char kBehindDisplaced[] = "a job that comes before it has just lost its claim, and has the next turn";

// The recipe (planner.h). What is told of it to a trace changes nothing; nor does what is known from earlier answers.
class Planner {
 public:
  Planner(const ClusterState& state, const Policy& policy, TimePoint now, bool shortcuts, PassTrace* trace = nullptr)
      : state_(state), shortcuts_(shortcuts), pass_(state, policy, now, trace) {}

  Plan Make() {
    if (!pass_.reserved().empty()) TakeReserved();
    KeepPlaces(pass_);
    Line();  // 1. Order
    while (const std::optional<Turn> turn = line_.Take()) TakeTurn(*turn);
    for (const auto& [pool, priority] : blocked_) LookAgain(pass_.NextTurn(pool, priority));
    plan_.borrowed = pass_.quota().Changed();
    plan_.verdicts = std::move(verdicts_);
    return std::move(plan_);
  }

 private:
  // Who leaves for a reservation leaves for nobody else.
  void TakeReserved() {
    plan_.reserved = pass_.reserved().changed();
    plan_.leaves = pass_.reserved().leaves();
    LookAgain(pass_.reserved().look_again());
    for (const ReservedLeave& leave : plan_.leaves) {
      pass_.SpeakFor(state_.FindJob(leave.attempt.job)->spec->pool, leave.attempt);
    }
  }

  void Line() {
    for (const auto& [shape, queue] : state_.index().queue) {
      if (!IsBarred(shape)) line_.Add(shape, queue);
    }
    for (const auto& [shape, waiting] : state_.index().waiting) {
      if (IsBarred(shape)) continue;
      line_.AddStarved(shape, waiting);
      if (Planted(PlantedBug::kStarvedCutOff) && line_.StarvedComesNext()) break;
    }
  }

  // Its user is disabled, or its team may not use the pool or has used up its budget: that is its blocker, and it has
  // no turn.
  bool IsBarred(const Shape& shape) {
    auto blocker = BarBlocker(state_.accounts(), pass_.policy(), shape.user, shape.team, shape.pool);
    const bool is_over = !Planted(PlantedBug::kBudgetForgotten) && pass_.IsOverBudget(shape.team);
    if (!blocker && is_over) blocker = BudgetBlocker(*state_.FindBudget(shape.team));
    if (!blocker) return false;
    verdicts_->try_emplace(shape, std::vector{std::move(*blocker)});
    return true;
  }

  void TakeTurn(const Turn& turn) {
    if (line_.HasStarted(turn.key.id)) return line_.PassOn(turn);
    const Job& job = *state_.FindJob(turn.key.id);
    PassTrace* const trace = pass_.TraceOf(job);
    ++turns_;
    const QuotaTurn quota = pass_.quota().TurnOf(job);  // 2. Quota
    const bool within = quota.standing == QuotaStanding::kWithin;
    const bool used_up = quota.order != turn.priority || turn.borrows == within;  // by an earlier start
    if (used_up) return line_.PassOn(turn);
    if (quota.standing == QuotaStanding::kNotAllowed) {
      verdicts_->try_emplace(*turn.shape, std::vector{QuotaBlocker(pass_, job)});
      return TellQuota(trace, pass_, job);
    }
    if (ComesBehindDisplaced(job.spec->pool, quota.order)) {
      verdicts_->try_emplace(*turn.shape, std::vector{Blocker{BlockerKind::kNotPlanned, kBehindDisplaced, 0, 0, {}}});
      return;
    }
    const Asker asker{
        &job, quota.order, turn.urgency, static_cast<bool>(turn.starved_since), within, !turn.key.not_swap_aborted};
    TellTurn(trace, asker, turns_, plan_.starts);
    TellQuota(trace, pass_, job);
    Answer answer = Ask(asker);
    if (answer.start) {
      Start(*answer.start, job);
      return line_.PassOn(turn);
    }
    blocked_.insert({job.spec->pool, quota.order});
    TellBlockers(trace, answer.blockers);
    // For all of the shape; what a starved one was told holds for those behind it.
    verdicts_->try_emplace(*turn.shape, std::move(answer.blockers));
  }

  // A job that loses its claim in this pass is not in the queue that the pass goes through. The next pass, which
  // follows at once, has the job at its place: until then nothing is given to those who may come behind it.
  bool ComesBehindDisplaced(const std::string& pool, PriorityClass order) const {
    const auto displaced = displaced_.find(pool);
    return displaced != displaced_.end() && order <= displaced->second;
  }

  void Start(PlannedStart& start, const Job& job) {
    line_.Started(job.id);
    if (PassTrace* const trace = pass_.TraceOf(job)) {
      if (trace->job() != job.id) trace->Forget();
      TellStart(trace, state_, start);
    }
    for (const AttemptId id : start.displaced) {
      const Attempt& attempt = *state_.FindAttempt(id);
      PriorityClass& highest = displaced_.try_emplace(job.spec->pool, PriorityClass::kLow).first->second;
      highest = std::max(highest, attempt.borrowed ? PriorityClass::kLow : attempt.charged);
    }
    plan_.starts.push_back(std::move(start));
  }

  struct Answer {
    std::optional<PlannedStart> start;
    std::vector<Blocker> blockers;  // without one
  };

  Answer Ask(const Asker& asker) {
    const JobSpec& spec = *asker.job->spec;
    if (pass_.AskOf(*asker.job).Largest(spec, pass_.policy()) < spec.nodes) return Refuse(asker);
    const bool holds_back = asker.may_interrupt && pass_.AtMost(asker, true) >= spec.nodes;
    const Question question = answers_.QuestionOf(asker);
    const bool too_few = pass_.AtMost(asker, false) < spec.nodes && !holds_back;
    const bool refused = too_few || answers_.Fails(question, spec.nodes);
    PassTrace* const trace = pass_.TraceOf(*asker.job);
    if (refused && shortcuts_ && !trace) return Refuse(asker);
    Field field = pass_.FieldFor(asker);
    TellField(trace, pass_, asker, field);
    if (auto wait = WaitForSave(pass_, asker, &field)) {
      LookAgain(wait->until);
      return {{}, {std::move(wait->blocker)}};
    }
    PlannedStart start;
    start.quantum = QuantumOf(state_, pass_.policy(), *asker.job, asker.starved);
    if (Planted(PlantedBug::kQuantumWithoutEnd)) start.quantum = Hours(24);
    start.nodes = PlaceWithoutVictims(pass_, spec, field);  // 3. Place, 4. Cross
    start.nodes.empty() ? TellLinks(trace, pass_, spec, field) : TellPlaced(trace, pass_, start.nodes);
    bool moves_considered = false;
    if (start.nodes.empty() && asker.may_interrupt) moves_considered = MakeRoom(asker, field, start);
    if (!start.nodes.empty()) return {Took(asker, std::move(start)), {}};

    LookAgain(field.protected_until);
    Answer answer{{}, Explain(pass_, asker, field)};  // 8. Explain
    if (refused || !holds_back) {
      TellNoHold(trace, holds_back ? "who came before it asks for the same, and stands for both"
                                   : "too few nodes come free for it, even when all protections have ended");
    }
    if (refused) return answer;
    if (holds_back) MaybeHoldBack(pass_, asker, field);  // 7. Hold back
    // What a move is worth depends on the nodes and on the job: such a failure is no answer for other jobs.
    if (!moves_considered) answers_.Failed(question, spec.nodes);
    return answer;
  }

  // Returns whether moves were considered.
  bool MakeRoom(const Asker& asker, const Field& field, PlannedStart& start) {
    bool moves_considered = false;
    auto preemption = CheapestGangPreemption(pass_, asker, field);  // 5. Interrupt
    std::optional<Move> move;                                       // 6. Move
    // Whoever has nothing but the link in the way is better off where it can go on.
    if (!preemption || preemption->for_link) {
      move = CheapestMove(pass_, asker, field, start.quantum, &moves_considered);
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
    return moves_considered;
  }

  PlannedStart Took(const Asker& asker, PlannedStart start) {
    start.job = asker.job->id;
    start.charged = pass_.quota().TurnOf(*asker.job).charged;
    start.borrowed = !asker.may_interrupt;
    pass_.Take(start, *asker.job);
    const auto crosses = [&](AttemptId id) { return Crosses(*state_.FindAttempt(id)); };
    if (std::any_of(start.displaced.begin(), start.displaced.end(), crosses)) answers_.LinkMayBeFree();
    return start;
  }

  Answer Refuse(const Asker& asker) {
    TimePoint protected_until;
    Answer answer{{}, answers_.Explain(asker, &protected_until)};
    LookAgain(protected_until);
    return answer;
  }

  void LookAgain(TimePoint at) {
    if (at > pass_.now() && (!plan_.look_again || at < plan_.look_again)) plan_.look_again = at;
  }

  const ClusterState& state_;
  const bool shortcuts_;
  Pass pass_;
  TurnQueue line_{pass_};
  Answers answers_{pass_};
  Plan plan_;
  std::shared_ptr<Verdicts> verdicts_ = std::make_shared<Verdicts>();
  std::map<std::string, PriorityClass> displaced_;  // by pool: the highest class of a job that lost its claim
  std::set<std::pair<std::string, PriorityClass>> blocked_;
  std::size_t turns_ = 0;
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
