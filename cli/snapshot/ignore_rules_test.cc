// What an ignore file leaves out, as a table of git's rules. workdir_files_test.cc holds the same against git itself.
#include "cli/snapshot/ignore_rules.h"

#include <gtest/gtest.h>

namespace glim::cli {
namespace {

struct Case {
  const char* rules;
  const char* path;  // a "/" at its end: a folder
  Verdict verdict;
};

constexpr Verdict kNone = Verdict::kNone, kIgnore = Verdict::kIgnore, kKeep = Verdict::kKeep;

const Case kCases[] = {
    // A name: at any depth, file or folder.
    {"a", "a", kIgnore},
    {"a", "d/a", kIgnore},
    {"a", "a/", kIgnore},
    {"a", "ab", kNone},
    {"a", "a/b", kNone},
    // A "/" at the end: folders alone.
    {"a/", "a/", kIgnore},
    {"a/", "d/a/", kIgnore},
    {"a/", "a", kNone},
    // A "/" elsewhere: from the file's folder on.
    {"/a", "a", kIgnore},
    {"/a", "d/a", kNone},
    {"d/a", "d/a", kIgnore},
    {"d/a", "x/d/a", kNone},
    {"/d/", "d/", kIgnore},
    // Wildcards stay within a name.
    {"*.o", "x.o", kIgnore},
    {"*.o", "d/x.o", kIgnore},
    {"*.o", "x.oo", kNone},
    {"/*.o", "d/x.o", kNone},
    {"d/*", "d/x", kIgnore},
    {"d/*", "d/x/y", kNone},
    {"?", "x", kIgnore},
    {"?", "xy", kNone},
    {"d?x", "d/x", kNone},
    {"*", "anything", kIgnore},
    {"a*b*c", "aXbYc", kIgnore},
    {"a*b*c", "aXbY", kNone},
    // "**" spans folders, and none.
    {"**/a", "a", kIgnore},
    {"**/a", "x/y/a", kIgnore},
    {"a/**", "a/x/y", kIgnore},
    {"a/**", "a/", kNone},
    {"a/**/b", "a/b", kIgnore},
    {"a/**/b", "a/x/y/b", kIgnore},
    {"a/**/b", "ab", kNone},
    {"**", "x/y", kIgnore},
    {"a**b", "aXb", kIgnore},
    {"x/a**b", "x/a/b", kNone},
    {"/a**/b", "aX/y/b", kIgnore},
    {"x/*/**", "x/a/b", kIgnore},
    // Sets.
    {"[ab]", "a", kIgnore},
    {"[ab]", "c", kNone},
    {"[!ab]", "c", kIgnore},
    {"[^ab]", "a", kNone},
    {"[a-c]x", "bx", kIgnore},
    {"[]a]", "]", kIgnore},
    {"[a-]", "-", kIgnore},
    {"[[:digit:]]", "7", kIgnore},
    {"[[:digit:]]", "x", kNone},
    {"[a/]b", "/b", kNone},
    {"[\\]]", "]", kIgnore},
    // What is malformed matches nothing.
    {"[ab", "a", kNone},
    {"[ab", "[ab", kNone},
    {"a\\", "a", kNone},
    {"a\\", "a\\", kNone},
    {"[[:no:]]", "n", kNone},
    // "!" takes back; the last line that matches decides.
    {"*.o\n!x.o", "x.o", kKeep},
    {"*.o\n!x.o", "y.o", kIgnore},
    {"!x.o\n*.o", "x.o", kIgnore},
    {"!a", "a", kKeep},
    // Comments, escapes, spaces, line ends.
    {"#a", "#a", kNone},
    {"\\#a", "#a", kIgnore},
    {"\\!a", "!a", kIgnore},
    {"a  ", "a", kIgnore},
    {"a\\ ", "a ", kIgnore},
    {"a\t", "a", kNone},
    {"a\r\nb\r\n", "a", kIgnore},
    {"\n\na", "a", kIgnore},
    {"\xEF\xBB\xBF"
     "a",
     "a", kIgnore},
    {"a\\*", "a*", kIgnore},
    {"a\\*", "ab", kNone},
    {" a", "a", kNone},
    {" a", " a", kIgnore},
    // What is empty says nothing.
    {"", "a", kNone},
    {"/", "a/", kNone},
    {"!", "a", kNone},
    {"   ", "a", kNone},
    {"//", "a/", kNone},
};

TEST(IgnoreRules, DecideAsGitDoes) {
  for (const Case& c : kCases) {
    std::string path = c.path;
    const bool is_folder = path.ends_with('/');
    if (is_folder) path.pop_back();
    EXPECT_EQ(IgnoreRules(c.rules).Decide(path, is_folder), c.verdict) << "'" << c.rules << "' of '" << c.path << "'";
  }
}

// Such patterns make matchers that try every way take for ever.
TEST(IgnoreRules, TakeNoLongTimeForAnyPattern) {
  std::string pattern, text(2000, 'a');
  for (int i = 0; i < 100; ++i) pattern += "*a";
  EXPECT_EQ(IgnoreRules(pattern + "b").Decide(text, false), kNone);
  for (int i = 0; i < 100; ++i) pattern += "/**/a";
  EXPECT_EQ(IgnoreRules(pattern).Decide(text, false), kNone);
}

}  // namespace
}  // namespace glim::cli
