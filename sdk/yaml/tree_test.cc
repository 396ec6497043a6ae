// What the fuzz target of the job specs found (tests/fuzz/spec_fuzz.cc); how specs are read is spec_reader_test.cc's.
#include "sdk/yaml/tree.h"

#include <string>

#include <gtest/gtest.h>

#include "sdk/base/printable.h"

namespace glim::yaml {
namespace {

// A double-quoted key may say "\e": its bytes are harmless, its value is not.
TEST(Tree, ARefusalShowsControlCharactersAsEscapes) {
  const char* texts[] = {"\"a\\e[2J\": 1\n\"a\\e[2J\": 2\n", "a\tb: 1\na\tb: 2\n", "a: !t\xe2\x80\xae x\n",
                         "a: *nob\xe2\x80\xaeody\n"};
  for (const std::string text : texts) {
    const auto tree = Parse(text, {"job.yaml"});
    ASSERT_FALSE(tree.ok()) << text;
    const std::string& message = tree.status().message();
    EXPECT_EQ(message, Escaped(message));
  }
}

// yaml-cpp would read several documents here, and one line would be two jobs.
TEST(Tree, SeveralDocumentsAreDividedByALineOfDashes) {
  const char* run_together[] = {"{a: 1} {b: 2}\n", "\"\"\"\"", "{a: 1}\n{b: 2}\n", "---\n{a: 1}\n{b: 2}\n", "[] []"};
  for (const std::string text : run_together) {
    const auto tree = Parse(text, {"job.yaml"});
    ASSERT_FALSE(tree.ok()) << text;
    EXPECT_NE(tree.status().message().find("text behind the end of a document"), std::string::npos)
        << tree.status().message();
  }
  const char* divided[] = {"{a: 1}\n---\n{b: 2}\n", "a: 1\r\n--- {b: 2}\r\n", "\n# x\n---\na: 1\n...\n---\nb: 2\n...\n",
                           "\xef\xbb\xbf{a: 1}\n--- # next\nb: 2\n",
                           "%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\nb: 2\n"};
  for (const std::string text : divided) {
    const auto tree = Parse(text, {"job.yaml"});
    ASSERT_TRUE(tree.ok()) << tree.status().message();
    EXPECT_EQ(tree->size(), 2u) << text;
  }
}

TEST(Tree, AKeyThatIsGivenTwiceIsNamedWithItsPath) {
  const auto tree = Parse("links:\n- {a: 1}\n- {b: {c: 1, c: 2}}\n", {"p.yaml", "BAD_CONFIG"});
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.status().message(), "p.yaml:3:14: key 'c' stands here twice");
  EXPECT_EQ(tree.status().field(), "links[1].b.c");
  EXPECT_EQ(tree.status().reason(), "BAD_CONFIG");
}

TEST(Tree, APathLeadsToItsValueOrAsFarAsItGoes) {
  const auto root = *ParseOne("a: {b: [x, {c: y}]}\n", {"p.yaml"});
  const auto column = [&](const char* path) { return root->PlaceOf(path).column; };
  EXPECT_EQ(column("a.b[1].c"), 16);
  EXPECT_EQ(column("a.b[0]"), 9);
  EXPECT_EQ(column("a.b[1].d"), 12);
  EXPECT_EQ(column("a.b[7].c"), 8);
  EXPECT_EQ(column("z"), 1);
  EXPECT_EQ(column("a.b[oops"), 8);
}

TEST(Tree, OneDocumentHasNoOtherAndNoAliases) {
  EXPECT_TRUE((*ParseOne("", {"p.yaml"}))->IsNull());
  EXPECT_EQ((*ParseOne("---\na: 1\n", {"p.yaml"}))->Find("a")->value->scalar, "1");
  EXPECT_EQ(ParseOne("a: 1\n---\nb: 1", {"p.yaml"}).status().message(), "p.yaml:2:1: a second document begins here");
  EXPECT_EQ(ParseOne("a: &x 1\nb: *x", {"p.yaml"}).status().message(), "p.yaml:2:4: aliases are not taken here");
}

}  // namespace
}  // namespace glim::yaml
