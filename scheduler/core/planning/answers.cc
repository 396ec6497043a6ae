#include "scheduler/core/planning/answers.h"

#include "scheduler/core/planning/explain.h"
#include "scheduler/core/planning/gang_preemption.h"

namespace glim::core {

Question Answers::QuestionOf(const Asker& asker) {
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

bool Answers::Fails(const Question& question, std::uint32_t nodes) const {
  const auto it = failed_.find(question);
  return it != failed_.end() && nodes >= it->second;
}

std::vector<Blocker> Answers::Explain(const Asker& asker, TimePoint* protected_until) {
  const Question question = QuestionOf(asker);
  auto& [starts, sums] = sums_[question];
  const std::uint64_t starts_now = pass_.PoolOf(asker.job->spec->pool).starts;
  if (starts != starts_now) {
    starts = starts_now;
    sums = pass_.FieldSumsFor(asker);
    *protected_until = sums.protected_until;
  }
  const bool names_its_own =  // its quota, or its user
      !asker.may_interrupt || pass_.AskOf(*asker.job).IsClosedTo(*asker.job->spec, pass_.policy());
  if (names_its_own) return core::Explain(pass_, asker, sums);
  auto& [at, words] = words_[{question, asker.job->spec->nodes}];
  if (at != pass_.changes()) {
    at = pass_.changes();
    words = core::Explain(pass_, asker, sums);
  }
  return words;
}

}  // namespace glim::core
