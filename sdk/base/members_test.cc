#include "sdk/base/members.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace glim::members_test {

// Not without a name: conversions to them are declared elsewhere, and never defined.
struct Nested {
  int a = 1;
  std::string b;
};
struct Many {
  bool flag = false;
  std::optional<Nested> nested;
  std::optional<std::uint32_t> number{};
  Nested inside;
  std::array<std::int64_t, 7> totals{};
  std::vector<std::string> texts;
  std::map<std::string, Nested> by_name;
  std::shared_ptr<const Nested> shared;
  std::optional<std::string> last;
};

TEST(Members, AreCountedWhateverTheirTypes) {
  EXPECT_EQ(MembersOf<Nested>(), 2u);
  EXPECT_EQ(MembersOf<Many>(), 9u);
}

}  // namespace glim::members_test
