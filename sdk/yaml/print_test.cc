#include "sdk/yaml/print.h"

#include <gtest/gtest.h>

#include "sdk/base/rng.h"

namespace glim::yaml {
namespace {

// Texts of what YAML has a meaning for.
std::string RandomText(Rng& rng) {
  constexpr std::string_view kParts[] = {"a", "B",  "7",  " ", "  ", "\n", "\t",   ":",    "#",        "-",
                                         "'", "\"", "\\", "|", ">",  "&",  "*",    "!",    "%",        "@",
                                         "{", "}",  "[",  "]", ",",  "?",  "null", "true", "\xc3\xa4", "\xe4\xb8\xad",
                                         "~", ".",  "/",  "=", "$"};
  std::string text;
  for (auto left = rng.Between(0, 6); left > 0; --left) {
    text += kParts[static_cast<std::size_t>(rng.Between(0, static_cast<std::int64_t>(std::size(kParts)) - 1))];
  }
  return text;
}

NodePtr RandomNode(Rng& rng, int depth) {
  const std::int64_t kind = depth == 0 ? 0 : rng.Between(0, 3);
  if (kind < 2) return Text(RandomText(rng));
  std::vector<NodePtr> items;
  std::vector<Entry> entries;
  for (auto left = rng.Between(kind == 3 && depth == 3 ? 1 : 0, 3); left > 0; --left) {
    items.push_back(RandomNode(rng, depth - 1));
    entries.push_back({RandomText(rng) + std::to_string(left), {}, items.back()});
  }
  return kind == 2 ? List(std::move(items)) : Mapping(std::move(entries));
}

void ExpectSame(const Node& left, const Node& right) {
  ASSERT_EQ(left.kind, right.kind);
  EXPECT_EQ(left.scalar, right.scalar);
  ASSERT_EQ(left.items.size(), right.items.size());
  for (std::size_t i = 0; i < left.items.size(); ++i) ExpectSame(*left.items[i], *right.items[i]);
  ASSERT_EQ(left.entries.size(), right.entries.size());
  for (std::size_t i = 0; i < left.entries.size(); ++i) {
    EXPECT_EQ(left.entries[i].key, right.entries[i].key);
    ExpectSame(*left.entries[i].value, *right.entries[i].value);
  }
}

TEST(Print, IsReadBackToTheSame) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Rng rng(seed);
    const NodePtr root = Mapping({{"a", {}, RandomNode(rng, 3)}, {"b", {}, RandomNode(rng, 2)}});
    const std::string printed = Print(*root);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + printed);
    const auto read = ParseOne(printed, {"printed.yaml"});
    ASSERT_TRUE(read.ok()) << read.status().message();
    ExpectSame(*root, **read);
    if (HasFailure()) return;
  }
}

TEST(Print, PutsQuotesOnlyWhereAReaderCouldTakeATextForSomethingElse) {
  EXPECT_EQ(Print(*Mapping({{"text", {}, Text("a-b")},
                            {"number", {}, Plain("4")},
                            {"digits", {}, Text("4")},
                            {"word", {}, Text("on")},
                            {"list", {}, List({Text("a"), Text("812:ok")})},
                            {"line", {}, Text("cd x && python train.py --dir '${HOME}'")},
                            {"on", {}, Text("a\n  b\n")}})),
            "text: a-b\nnumber: 4\ndigits: \"4\"\nword: \"on\"\nlist: [a, \"812:ok\"]\n"
            "line: cd x && python train.py --dir '${HOME}'\non: |\n  a\n    b\n");
}

}  // namespace
}  // namespace glim::yaml
