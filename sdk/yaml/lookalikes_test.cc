// Texts that look right and are not: each is refused at the character, by its name, with what to type.
#include "sdk/yaml/lookalikes.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/yaml/tree.h"

namespace glim::yaml {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Lookalikes, TheCharacterAndItsLineAreNamed) {
  const struct {
    const char* what;
    std::string text;
    const char* place;
    const char* message;
    const char* fix;
  } kRows[] = {
      {"a tab before a key", "name: tab\nenv:\n\tMODE: fast\nrun: x\n", "j:3:1: ", "a tab indents this line",
       "by spaces"},
      {"a tab behind spaces", "name: tab\nenv:\n  \tMODE: fast\n  B: c\n", "j:3:3: ", "a tab indents", "by spaces"},
      {"a no-break space behind a colon",
       "name: x\nnodes:\xc2\xa0"
       "1\nrun: y\n",
       "j:2:7: ", "a no-break space (U+00A0)", "type a space"},
      {"the same in the last line",
       "name: x\nnodes:\xc2\xa0"
       "1\n",
       "j:2:7: ", "(U+00A0)", "type a space"},
      {"one that indents", "env:\n\xc2\xa0\xc2\xa0MODE: fast\n", "j:2:", "(U+00A0)", "type a space"},
      {"one behind a value", "workdir: /srv/x\xc2\xa0\nname: x\n", "j:1:16: ", "(U+00A0)", "type a space"},
      {"one in a command", "run: python\xc2\xa0train.py\n", "j:1:12: ", "(U+00A0)", "put quotes"},
      {"an ideographic space", "name:\xe3\x80\x80x\nrun: y\n", "j:1:6: ", "an ideographic space (U+3000)",
       "type a space"},
      {"a zero-width space in a key",
       "no\xe2\x80\x8b"
       "des: 1\n",
       "j:1:3: ", "a zero-width space (U+200B)", "remove it"},
      {"a zero-width space in a script", "run: |\n  ls\xe2\x80\x8b\n", "j:2:5: ", "(U+200B)", "remove it"},
      {"a byte order mark between files", "name: a\n---\n\xef\xbb\xbfname: b\n",
       "j:3:1: ", "a byte order mark (U+FEFF)", "remove it"},
      {"a line separator", "run: |\n  a\xe2\x80\xa8  b\n", "j:2:4: ", "a line separator (U+2028)", "remove it"},
      {"what turns text around",
       "name: a\xe2\x80\xae"
       "b\n",
       "j:1:8: ", "turns text around (U+202E)", "remove it"},
      {"typographic quotes around a value",
       "name: \xe2\x80\x9c"
       "first\xe2\x80\x9d\n",
       "j:1:7: ", "a typographic quotation mark (U+201C)", "type \" or '"},
      {"and around a key", "{\xe2\x80\x9cname\xe2\x80\x9d: 1}\n", "j:1:2: ", "(U+201C)", "type \" or '"},
      {"a colon of full width", "name\xef\xbc\x9a x\nnodes: 1\n", "j:1:5: ", "a colon of full width (U+FF1A)",
       "type ':'"},
      {"and nothing else", "name\xef\xbc\x9ax\n", "j:1:", "(U+FF1A)", "type ':'"},
      {"and below a key",
       "env:\n  A\xef\xbc\x9a"
       "1\nrun: y\n",
       "j:2:4: ", "(U+FF1A)", "type ':'"},
      {"a dash before an item", "mounts:\n  \xe2\x80\x93 source: /a\n", "j:2:3: ", "a dash (U+2013)", "type '-'"},
      {"a tab before an item", "mounts:\n\t- source: /a\nrun: y\n", "j:2:1: ", "a tab indents", "by spaces"},
      {"a carriage return alone", "name: a\rnodes: 1\r", "j:1:8: ", "a carriage return (U+000D)", "newline"},
      {"two before a newline", "name: a\r\r\n", "j:1:8: ", "a carriage return (U+000D)", "newline"},
  };
  for (const auto& row : kRows) {
    const auto read = Parse(row.text, {"j"});
    ASSERT_FALSE(read.ok()) << row.what;
    EXPECT_THAT(read.status().message(), StartsWith(row.place)) << row.what;
    EXPECT_THAT(read.status().message(), HasSubstr(row.message)) << row.what;
    EXPECT_THAT(read.status().fix(), HasSubstr(row.fix)) << row.what;
  }
}

TEST(Lookalikes, WhereTheyAreMeantTheyAreTaken) {
  for (const std::string text : {
           "a: \"10\xc2\xa0"
           "000\"\n",
           "a: '\xe2\x80\x9cso\xe2\x80\x9d'\n",
           "a: he said \xe2\x80\x9cso\xe2\x80\x9d\n",
           "a: \"\\u200B\"\n",
           "a: 1 # copied\xe2\x80\x8b from\xc2\xa0"
           "a page\n",
           "# \xe2\x80\x9cnotes\xe2\x80\x9d\n# \xef\xbb\xbfmore\na: 1\n",
           "run: |\n  if true; then\n  \techo a\n  \techo\xc2\xa0"
           "b\n  fi\n",
           "a: \xe8\xaf\xb4\xe6\x98\x8e\xef\xbc\x9a\xe8\xae\xad\xe7\xbb\x83\n",
           "a: \xd7\xa9\xe2\x80\x8f\xd7\x9c\n",
           "a:\t1\n",
           "a: {b: 1,\n\tc: 2}\n",
           "a: \xe2\x80\x93\n",
           "\xef\xbb\xbf"
           "a: 1\n",
       }) {
    const auto read = Parse(text, {"j"});
    EXPECT_TRUE(read.ok()) << text << read.status().message();
  }
}

TEST(Lookalikes, NoOtherFaultIsPutDownToThem) {
  const auto elsewhere = Parse("run: |\n  \techo a\nname: x\nnodes: 1\nenv: {a: 1\n", {"j"});
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.status().message().find("tab"), std::string::npos) << elsewhere.status().message();
}

TEST(Lookalikes, LinesMayEndAsWindowsEndsThem) {
  const auto read = Parse("name: a\r\nrun: |\r\n  echo 1\r\n  echo 2\r\nb: \"c\r\n  d\"\r\n", {"j"});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->front()->Find("run")->value->scalar, "echo 1\necho 2\n") << "a shell stumbles over carriage returns";
  EXPECT_EQ(read->front()->Find("b")->value->scalar, "c d");
}

}  // namespace
}  // namespace glim::yaml
