// The words of the rows as people and programs read them, and priorities as they write them.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/enum_words.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/spec.h"
#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"

namespace glim::core {
namespace {

template <typename E>
const char* WordOrMark(E value) {
  const char* word = WordOf(value);
  return word != nullptr ? word : "?";
}

}  // namespace

Result<PriorityClass> ParsePriority(const std::string& text) {
  std::string word = text;
  std::replace(word.begin(), word.end(), '-', '_');
  for (const auto& [value, name] : kEnumWords<PriorityClass>) {
    if (word == name || text == std::to_string(static_cast<int>(value))) return value;
  }
  std::string all;
  std::vector<std::string_view> known;
  for (const auto& [value, name] : kEnumWords<PriorityClass>) {
    all += (all.empty() ? "" : ", ") + std::string(name);
    known.push_back(name);
  }
  const std::string near = Nearest(text, known);
  return InvalidArgument("priority", "'" + EscapedStart(text, 64) + "' is not a priority class",
                         (near.empty() ? "" : "did you mean '" + near + "'? ") + "use one of " + all);
}

const char* ToString(PriorityClass v) { return WordOrMark(v); }
const char* ToString(QuotaOf v) { return WordOrMark(v); }
const char* ToString(Role v) { return WordOrMark(v); }
const char* ToString(Scope v) { return WordOrMark(v); }
const char* ToString(TokenOrigin v) { return WordOrMark(v); }
const char* ToString(DependencyKind v) { return WordOrMark(v); }
const char* ToString(IfUnreachable v) { return WordOrMark(v); }
const char* ToString(NvLink v) { return WordOrMark(v); }
const char* ToString(Use v) { return WordOrMark(v); }
const char* ToString(JobState v) { return WordOrMark(v); }
const char* ToString(AttemptState v) { return WordOrMark(v); }
const char* ToString(Outcome v) { return WordOrMark(v); }
const char* ToString(SaveResult v) { return WordOrMark(v); }
const char* ToString(HealthVerdict v) { return WordOrMark(v); }
const char* ToString(ValidationNeed n) { return WordOrMark(n); }
const char* ToString(StopCause v) { return WordOrMark(v); }
const char* ToString(AgreementState v) { return WordOrMark(v); }
const char* ToString(TaskPhase v) { return WordOrMark(v); }
const char* ToString(NodeState v) { return WordOrMark(v); }
const char* ToString(BlockerKind v) { return WordOrMark(v); }
const char* ToString(HistoryKind v) { return WordOrMark(v); }

}  // namespace glim::core
