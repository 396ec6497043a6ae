// The core is pure: this test reads its sources (and the base that it uses) and fails on anything that could bring in a
// clock, I/O, threads, randomness, the environment or a wire type.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace glim::core {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GLIM_SOURCE_DIR;

const std::set<std::string> kPureHeaders = {
    "algorithm", "array",       "bit",    "compare",     "cstddef",  "cstdint", "functional", "iterator",
    "limits",    "map",         "memory", "numeric",     "optional", "queue",   "set",        "span",
    "string",    "string_view", "tuple",  "type_traits", "utility",  "variant", "vector",
};

// Headers that one file alone may use.
const std::set<std::pair<std::string, std::string>> kExceptions = {
    {"sdk/base/check.h", "cstdio"},                  // says where a broken invariant was found
    {"sdk/base/check.h", "cstdlib"},                 // and ends the program
    {"scheduler/core/model/cow_table.h", "atomic"},  // generations, shared with readers' copies
};

// Words that have no place in a pure core, whatever header they come from.
const char* const kForbidden[] = {
    "std::chrono",     "std::thread", "std::jthread",    "std::mutex",    "std::condition_variable",
    "std::async",      "std::cout",   "std::cerr",       "std::ifstream", "std::ofstream",
    "std::fstream",    "std::random", "std::unordered_", "thread_local",  "volatile",
    "std::filesystem", "std::hash",   "system_clock",    "steady_clock",  "reinterpret_cast",
};
// The same for functions; only as a call of their own.
const char* const kForbiddenCalls[] = {
    "rand",   "srand", "random", "time",    "clock", "gettimeofday", "clock_gettime", "localtime", "gmtime", "getenv",
    "setenv", "fopen", "printf", "fprintf", "puts",  "system",       "abort",         "exit",      "sleep",  "usleep",
};

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string WithoutComments(const std::string& text) {
  static const std::regex kLine("//[^\n]*");
  static const std::regex kString("\"([^\"\\\\\n]|\\\\.)*\"");
  std::ostringstream out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("#include", 0) != 0) line = std::regex_replace(line, kString, "\"\"");
    out << std::regex_replace(line, kLine, "") << "\n";
  }
  return out.str();
}

std::vector<std::string> Includes(const std::string& code) {
  static const std::regex kInclude("#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  std::vector<std::string> includes;
  for (std::sregex_iterator it(code.begin(), code.end(), kInclude), end; it != end; ++it) includes.push_back((*it)[1]);
  return includes;
}

bool IsTest(const fs::path& path) { return path.filename().string().ends_with("_test.cc"); }

// The core's sources and headers, and whatever of sdk/base they include, directly or not.
std::set<std::string> CoreSources() {
  std::vector<std::string> open;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "scheduler/core")) {
    const std::string extension = entry.path().extension();
    const std::string file = entry.path().lexically_relative(kRoot);
    const bool source = (extension == ".h" || extension == ".cc") && !IsTest(entry.path());
    if (source && file.find("/testing/") == std::string::npos) open.push_back(file);
  }
  std::set<std::string> seen;
  while (!open.empty()) {
    const std::string file = open.back();
    open.pop_back();
    if (!seen.insert(file).second) continue;
    for (const std::string& include : Includes(ReadFile(kRoot / file))) {
      if (include.rfind("sdk/base/", 0) == 0) open.push_back(include);
    }
  }
  return seen;
}

// Every offence of one file.
std::vector<std::string> Offences(const std::string& file, const std::string& text) {
  const std::string code = WithoutComments(text);
  std::vector<std::string> offences;
  for (const std::string& include : Includes(code)) {
    const bool own = include.rfind("scheduler/core/", 0) == 0 || include.rfind("sdk/base/", 0) == 0;
    const bool testing = include.rfind("scheduler/core/testing/", 0) == 0;
    if ((own && !testing) || kPureHeaders.contains(include) || kExceptions.contains({file, include})) continue;
    offences.push_back("includes " + include);
  }
  for (const char* word : kForbidden) {
    if (code.find(word) == std::string::npos) continue;
    // strong_id.h offers a hash to others; the core's iteration is ordered.
    if (std::string(word) == "std::hash" && file == "sdk/base/strong_id.h") continue;
    offences.push_back(std::string("uses ") + word);
  }
  for (const char* call : kForbiddenCalls) {
    if (file == "sdk/base/check.h") continue;
    if (std::regex_search(code, std::regex(std::string("(^|[^A-Za-z0-9_.>])") + call + "\\s*\\("))) {
      offences.push_back(std::string("calls ") + call);
    }
  }
  return offences;
}

TEST(Pure, NoSourceOfTheCoreReachesOutside) {
  const std::set<std::string> sources = CoreSources();
  EXPECT_GT(sources.size(), 40u) << "the sources were not found below " << kRoot;
  EXPECT_TRUE(sources.contains("sdk/base/check.h"));
  for (const std::string& file : sources) {
    for (const std::string& offence : Offences(file, ReadFile(kRoot / file))) ADD_FAILURE() << file << " " << offence;
  }
}

TEST(Pure, TheTestFindsWhatItLooksFor) {
  const std::pair<const char*, const char*> kRows[] = {
      {"#include <chrono>\n", "includes chrono"},
      {"#include <thread>\n", "includes thread"},
      {"#include \"spdlog/spdlog.h\"\n", "includes spdlog/spdlog.h"},
      {"#include \"scheduler/store/contract/store.h\"\n", "includes scheduler/store/store.h"},
      {"#include \"scheduler/core/testing/specs.h\"\n", "includes scheduler/core/testing/specs.h"},
      {"#include <atomic>\n", "includes atomic"},
      {"#  include <random>\n", "includes random"},
      {"int x = rand();\n", "calls rand"},
      {"auto t = ::time(nullptr);\n", "calls time"},
      {"auto t = std::time(nullptr);\n", "calls time"},
      {"const char* h = getenv(\"HOME\");\n", "calls getenv"},
      {"std::mutex m;\n", "uses std::mutex"},
      {"std::unordered_map<int, int> m;\n", "uses std::unordered_"},
  };
  for (const auto& [code, offence] : kRows) {
    EXPECT_EQ(Offences("scheduler/core/x.cc", code), std::vector<std::string>{offence}) << code;
  }
  const char* const kFine[] = {"// std::mutex, time(now)\n", "TimePoint at_time(int);\n", "Text(\"rand()\");\n",
                               "x.time(1);\n"};
  for (const char* fine : kFine) {
    EXPECT_TRUE(Offences("scheduler/core/x.cc", fine).empty()) << fine;
  }
}

TEST(Pure, TheLibraryLinksNothingButTheBase) {
  const std::string cmake = ReadFile(kRoot / "scheduler/core/CMakeLists.txt");
  std::smatch library;
  const std::regex call("glim_library\\(glim_core\\s+SOURCES\\s+\\S+\\s+LINKS\\s+([^)]*)\\)");
  ASSERT_TRUE(std::regex_search(cmake, library, call));
  EXPECT_EQ(library[1], "glim_base");
  EXPECT_EQ(cmake.find("target_link_libraries"), std::string::npos);
  const std::string base = ReadFile(kRoot / "sdk/base/CMakeLists.txt");
  EXPECT_NE(base.find("add_library(glim_base INTERFACE)"), std::string::npos);
  EXPECT_EQ(base.find("target_link_libraries(glim_base"), std::string::npos);
}

TEST(Pure, FilesStaySmall) {
  for (const std::string& file : CoreSources()) {
    const std::string text = ReadFile(kRoot / file);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 400) << file;
  }
}

}  // namespace
}  // namespace glim::core
