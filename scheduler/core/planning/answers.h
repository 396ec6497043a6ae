// What a pass has answered already, for those who ask the same behind it: a cache beside the planner's recipe, without
// which a pass decides the same (MakePlanAskingEverybody, shortcuts_test.cc) and costs the length of the queue. In a
// pass nodes only become fewer, and an earlier job may preempt all that a later one may: what failed for one job fails
// for each later job that asks the same for as many nodes. Of one pass and its thread. Private to the planner.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/core/planning/pass.h"
#include "scheduler/core/planning/save_choice.h"

namespace glim::core {

// All that an answer reads, but for the number of nodes and the urgency. (A move depends on more, and a displaced claim
// may give up a link: see Failed and LinkMayBeFree.)
using Question = std::tuple<std::uint32_t, PriorityClass, bool, bool, bool, bool, bool, TimePoint, DearSave,  // AskView
                            std::vector<ReservedFor>>;

class Answers {
 public:
  // Lent, and outlives this.
  explicit Answers(Pass& pass) : pass_(pass) {}

  Question QuestionOf(const Asker& asker);

  // What asks `question` for `nodes` fails; unless that depended on more than the question.
  void Failed(const Question& question, std::uint32_t nodes) { failed_[question] = nodes; }
  bool Fails(const Question& question, std::uint32_t nodes) const;
  void LinkMayBeFree() { failed_.clear(); }

  // 8. Explain, of who is not looked at. Shapes that differ in what the words do not say share the sums, and of as many
  // nodes the words. `protected_until` is given where sums were made: when a protection ends that stood in the way.
  std::vector<Blocker> Explain(const Asker& asker, TimePoint* protected_until);

 private:
  template <typename Answer>
  using AsOf = std::pair<std::uint64_t, Answer>;  // with the starts, or changes, of the pass when it was given

  Pass& pass_;
  std::map<Question, std::uint32_t> failed_;
  std::map<Question, AsOf<FieldSums>> sums_;
  std::map<std::pair<Question, std::uint32_t>, AsOf<std::vector<Blocker>>> words_;
};

}  // namespace glim::core
