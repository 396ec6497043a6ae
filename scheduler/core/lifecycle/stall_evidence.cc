#include "scheduler/core/lifecycle/stall_evidence.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/core/model/attempt_tasks.h"
#include "sdk/base/cut_text.h"

namespace glim::core {
namespace {

constexpr std::size_t kLinesBytesMax = kEvidenceBytesMax / 2;  // of all tasks; stacks have the rest
constexpr std::size_t kLinesOfTaskMax = 1024;

struct Answer {
  std::int64_t step = -1;  // the least of its ranks
  std::uint32_t index = 0;
  std::string node;
  std::string_view lines;
  std::string_view stacks;
  bool given = false;
};

// The farthest behind first.
std::vector<Answer> InOrder(const ClusterState& state, const Attempt& attempt,
                            const std::map<std::uint32_t, std::string>& texts) {
  std::vector<Answer> answers;
  for (const Task* task : TasksOf(state, attempt.id)) {
    if (task->phase == TaskPhase::kReleased) continue;  // nothing is left of it
    Answer& answer = answers.emplace_back();
    answer.index = task->id.index;
    for (std::size_t i = 0; i < task->ranks.size(); ++i) {
      answer.step = i == 0 ? task->ranks[i].step : std::min(answer.step, task->ranks[i].step);
    }
    if (const Node* node = state.FindNode(task->node)) answer.node = node->name;
    const auto text = texts.find(task->id.index);
    if (text == texts.end()) continue;
    answer.given = true;
    const std::string_view all = text->second;
    const std::size_t gap = all.find("\n\n");
    answer.lines = all.substr(0, gap);
    if (gap != std::string_view::npos) answer.stacks = all.substr(gap + 2);
  }
  std::stable_sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) { return a.step < b.step; });
  return answers;
}

std::string LinesOf(const Answer& answer) {
  std::string text = answer.node + (answer.step >= 0 ? ", at step " + std::to_string(answer.step) : "") + ":";
  if (!answer.given) return text + " no answer within " + std::to_string(kEvidenceWait.ms / 1000) + " s\n";
  if (answer.lines.empty()) return text + " no process of it was found\n";
  return text + "\n" + CutText(std::string(answer.lines), kLinesOfTaskMax) + "\n";
}

}  // namespace

std::string EvidenceInWords(const ClusterState& state, const Attempt& attempt,
                            const std::map<std::uint32_t, std::string>& texts) {
  const std::vector<Answer> answers = InOrder(state, attempt, texts);
  std::string evidence;
  std::size_t told = 0;
  for (const Answer& answer : answers) {
    const std::string lines = LinesOf(answer);
    if (evidence.size() + lines.size() > kLinesBytesMax) break;
    evidence += lines;
    ++told;
  }
  if (told < answers.size()) evidence += "and " + std::to_string(answers.size() - told) + " nodes more\n";
  for (const Answer& answer : answers) {
    if (answer.stacks.empty()) continue;
    const std::string head = "\n" + answer.node + ":\n";
    if (evidence.size() + head.size() >= kEvidenceBytesMax) break;
    evidence += head;
    evidence += CutText(std::string(answer.stacks), kEvidenceBytesMax - evidence.size());
  }
  return evidence;
}

}  // namespace glim::core
