// The table of words against the enumerations themselves: every enumerator is there, with the word of its own name.
#include "scheduler/core/model/enum_words.h"

#include <array>
#include <cctype>
#include <cstddef>
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
constexpr std::string_view NameOfValue() {
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

// The compiler's names of all numbers that are looked at. Nothing but names is instantiated for each number: what
// checks them is a loop.
template <typename E, int... kNumbers>
constexpr auto NamesOfNumbers(std::integer_sequence<int, kNumbers...>) {
  return std::array{NameOfValue<static_cast<E>(kNumbers + kNumberLow)>()...};
}

template <typename E>
std::size_t CheckEveryNumber() {
  constexpr auto kNames = NamesOfNumbers<E>(std::make_integer_sequence<int, kNumberHigh - kNumberLow + 1>());
  std::size_t enumerators = 0;
  for (int number = kNumberLow; number <= kNumberHigh; ++number) {
    const auto value = static_cast<E>(number);
    const std::string expected = WordOfName(kNames[number - kNumberLow]);
    const char* const found = WordOf(value);
    if (expected.empty()) {
      EXPECT_EQ(found, nullptr) << "the table has " << number << ", which is no enumerator";
      continue;
    }
    ++enumerators;
    const std::string word = found != nullptr ? found : "(not in the table)";
    // Only kNone may have the empty word.
    EXPECT_EQ(word.empty() ? "none" : word, expected) << "see enum_words.h";
    EXPECT_EQ(FromWord<E>(word), value);
  }
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
  const std::size_t enumerators = CheckEveryNumber<TypeParam>();
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
