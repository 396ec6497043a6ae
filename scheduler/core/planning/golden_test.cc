// Golden decision files: golden/NAME.txt has a cluster and a queue, and below the line "== plan" what the planner makes
// of them, with its reasons. A change of policy shows as a diff of these files. GLIM_GOLDEN_UPDATE=1 writes them anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scheduler/core/testing/golden_input.h"
#include "scheduler/core/testing/golden_plan.h"
#include "sdk/base/testing/folders.h"

namespace glim::core {
namespace {

using testing::GoldenInput;
using testing::GoldenPlan;
using testing::ReadGoldenInput;

const std::string kPlanBegins = "== plan\n";

std::filesystem::path GoldenFolder() { return SourceFile("scheduler/core/planning/golden"); }

std::vector<std::string> GoldenNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenFolder())) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Line by line: " " in both, "-" in the file alone, "+" in the plan alone. By the longest common subsequence.
std::string DiffOf(const std::string& file, const std::string& plan) {
  const std::vector<std::string> a = LinesOf(file), b = LinesOf(plan);
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string diff;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      diff += " " + a[i] + "\n";
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      diff += "-" + a[i++] + "\n";
    } else {
      diff += "+" + b[j++] + "\n";
    }
  }
  return diff;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, TheFileHasThePlanAndItsReasons) {
  const std::filesystem::path path = GoldenFolder() / (GetParam() + ".txt");
  std::ostringstream file;
  file << std::ifstream(path).rdbuf();
  const std::string text = file.str();
  const std::size_t begins = std::min(text.find(kPlanBegins), text.size());
  const std::string input_text = text.substr(0, begins);
  const GoldenInput input = ReadGoldenInput(input_text);
  ASSERT_EQ(input.fault, "") << path;
  const std::string plan = GoldenPlan(input);
  if (std::getenv("GLIM_GOLDEN_UPDATE") != nullptr) {
    std::ofstream(path) << input_text << kPlanBegins << plan;
    return;
  }
  const std::string expected = begins == text.size() ? "" : text.substr(begins + kPlanBegins.size());
  EXPECT_TRUE(expected == plan) << path << " has another plan (- the file, + the planner):\n"
                                << DiffOf(expected, plan)
                                << "Is that what the change is for? GLIM_GOLDEN_UPDATE=1 writes the files anew.";
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, ::testing::ValuesIn(GoldenNames()),
                         [](const auto& info) { return info.param; });

TEST(GoldenFiles, EachIsACaseOfItsOwn) { EXPECT_GE(GoldenNames().size(), 20u); }

TEST(GoldenDiff, MarksWhatOneSideHasAlone) {
  EXPECT_EQ(DiffOf("a\nb\nc\n", "a\nx\nc\n"), " a\n-b\n+x\n c\n");
  EXPECT_EQ(DiffOf("", "a\n"), "+a\n");
  EXPECT_EQ(DiffOf("a\n", ""), "-a\n");
}

TEST(GoldenInputText, SaysWhatItCannotRead) {
  const std::pair<const char*, const char*> kRows[] = {
      {"nodes n1",
       "line 1: 'nodes' begins no line; use policy, quota, team, user, link, node, reservation, ended, queued, "
       "running, claimed, leaving or cancelled"},
      {"# a comment\nnode n1 colour=red", "line 2: the key 'colour' has no meaning here"},
      {"node 1", "line 1: '1' names no nodes; use n1 or n1..n4"},
      {"node n1\nnode n1", "line 2: node n1 stands twice; keep one"},
      {"policy quantum_min=15", "line 1: quantum_min: '15' is no duration; use 500ms, 30s, 15m or 2h"},
      {"policy quantum=15m", "line 1: the key 'quantum' has no meaning here"},
      {"queued job 1 nodes=two", "line 1: nodes: 'two' is no whole number"},
      {"queued job 1 nodes=1 nodes=2", "line 1: nodes stands twice; keep one"},
      {"queued job 1 quickly", "line 1: 'quickly' has no meaning here"},
      {"queued 1", "line 1: the word 'job' and a number are missing"},
      {"running job 1 on=n1", "line 1: there is no node 'n1' above this line"},
      {"node n1\nrunning job 1 nodes=2 on=n1", "line 2: on: name as many nodes as the job asks for"},
      {"node n1\nrunning job 1 on=n1\nrunning job 2 on=n1", "line 3: on: somebody above this line has node n1"},
      {"node n1\nrunning job 1 class=auto on=n1",
       "line 2: class: a job that has nodes has a class; auto has become one"},
  };
  for (const auto& [text, fault] : kRows) EXPECT_EQ(ReadGoldenInput(text).fault, fault) << text;
  EXPECT_THAT(ReadGoldenInput("queued job 1 class=urgent").fault, ::testing::HasSubstr("class: 'urgent' is not"));
}

}  // namespace
}  // namespace glim::core
