// The table of words against the enumerations themselves: every enumerator is there, with the word of its own name.
#include "scheduler/core/model/enum_words.h"

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace glim::core {
namespace {

constexpr int kNumberLow = -2;
constexpr int kNumberHigh = 127;

// "glim::core::JobState::kQueued" of an enumerator, "(glim::core::JobState)17" of any other number: what the compiler
// knows about an enumeration, so that no list of enumerators stands here beside it.
template <auto kValue>
std::string_view NameOfValue() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("kValue = ") + std::string_view("kValue = ").size();
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}

// "node_failure" of "...::kNodeFailure"; empty of a number without an enumerator.
std::string WordOfName(std::string_view name) {
  if (name.starts_with('(')) return "";
  const std::size_t colon = name.rfind("::k");
  if (colon == std::string_view::npos) return "";
  std::string word;
  for (const char c : name.substr(colon + 3)) {
    if (std::isupper(static_cast<unsigned char>(c)) && !word.empty()) word += '_';
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word;
}

template <typename E, int kNumber>
void CheckNumber(std::size_t* enumerators) {
  constexpr auto kValue = static_cast<E>(kNumber);
  const std::string expected = WordOfName(NameOfValue<kValue>());
  const char* const found = WordOf(kValue);
  if (expected.empty()) {
    EXPECT_EQ(found, nullptr) << "the table has " << kNumber << ", which is no enumerator";
    return;
  }
  ++*enumerators;
  const std::string word = found != nullptr ? found : "(not in the table)";
  if (word.empty()) {
    EXPECT_EQ(expected, "none") << "only kNone may have the empty word";
  } else {
    EXPECT_EQ(word, expected) << "see enum_words.h";
  }
  EXPECT_EQ(FromWord<E>(word), kValue);
}

template <typename E, int... kNumbers>
std::size_t CheckEveryNumber(std::integer_sequence<int, kNumbers...>) {
  std::size_t enumerators = 0;
  (CheckNumber<E, kNumbers + kNumberLow>(&enumerators), ...);
  return enumerators;
}

template <typename E>
class EnumWordsTest : public ::testing::Test {};

using Enumerations =
    ::testing::Types<PriorityClass, Launcher, InterruptMode, CrossZone, LeafPolicy, NvLink, DependencyKind,
                     IfUnreachable, Use, JobState, AttemptState, Outcome, SaveResult, HealthVerdict, StopCause,
                     AgreementState, TaskPhase, NodeState, BlockerKind, HistoryKind, Role, Scope, TokenOrigin>;
TYPED_TEST_SUITE(EnumWordsTest, Enumerations);

TYPED_TEST(EnumWordsTest, EveryEnumeratorHasTheWordOfItsName) {
  const std::size_t enumerators =
      CheckEveryNumber<TypeParam>(std::make_integer_sequence<int, kNumberHigh - kNumberLow + 1>());
  EXPECT_GE(enumerators, 2u) << "the compiler's names are not read as they are written";
  EXPECT_EQ(enumerators, kEnumWords<TypeParam>.size());
}

TYPED_TEST(EnumWordsTest, WordsAreDistinctAndLowerCase) {
  std::set<std::string> words;
  for (const auto& [value, word] : kEnumWords<TypeParam>) {
    EXPECT_TRUE(words.insert(word).second) << word << " stands for two";
    for (const char c : std::string_view(word)) EXPECT_TRUE((c >= 'a' && c <= 'z') || c == '_') << word;
  }
}

TEST(EnumWords, AStrangersWordIsNone) {
  EXPECT_EQ(FromWord<JobState>("dreaming"), std::nullopt);
  EXPECT_EQ(FromWord<JobState>(""), std::nullopt);
  EXPECT_EQ(FromWord<JobState>("Queued"), std::nullopt);
  EXPECT_EQ(FromWord<Outcome>(""), Outcome::kNone);
  EXPECT_EQ(WordOf(static_cast<JobState>(200)), nullptr);
}

}  // namespace
}  // namespace glim::core
