// The kernel's lists of CPUs.
#include "nodeagent/validate/cpu_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::validate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CpuList, HasNumbersAndRanges) {
  EXPECT_THAT(ParseCpuList("0-2,8\n"), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(ParseCpuList("5"), ElementsAre(5));
  EXPECT_THAT(ParseCpuList("0,2-3,64-65"), ElementsAre(0, 2, 3, 64, 65));
}

TEST(CpuList, EndsWithWhatIsNoNumber) {
  EXPECT_THAT(ParseCpuList(""), IsEmpty());
  EXPECT_THAT(ParseCpuList("\n"), IsEmpty());
  EXPECT_THAT(ParseCpuList("3-1,7"), ElementsAre(7));
  EXPECT_THAT(ParseCpuList("1,x,2"), ElementsAre(1));
  EXPECT_THAT(ParseCpuList("0-99999999999"), IsEmpty());
}

}  // namespace
}  // namespace glim::validate
