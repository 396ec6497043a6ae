// The lines of glim-validate in a job's log, as an operator sees them.
#include "cli/views/validate_view.h"

#include <gtest/gtest.h>

namespace glim::cli {
namespace {

constexpr char kLog[] =
    "something else wrote this\n"
    "{\"part\":\"cpu\",\"ok\":true,\"text\":\"cpu piece cpu0: 20.00 ms\"}\n"
    "{\"part\":\"cpu\",\"ok\":false,\"text\":\"cpu piece cpu1: too slow\"}\n"
    "{\"part\":\"disk\",\"ok\":\"yes\",\"text\":\"no line of ours\"}\n"
    "{\"part\":\"disk\",\"ok\":false,\"text\":\"disk write /ckpt: too slow\"}\n"
    "glim-validate: 2 of 3 readings are bad\n";

TEST(AValidation, IsReadFromTheLogOfItsJob) {
  const Validation validation = ReadValidation(kLog);
  ASSERT_EQ(validation.lines.size(), 3u);
  EXPECT_TRUE(validation.lines[0].ok);
  EXPECT_TRUE(ReadValidation("").lines.empty());
}

TEST(AValidation, ShowsWhatIsBadFirst) {
  EXPECT_EQ(ValidationText(ReadValidation(kLog), false),
            "RESULT  WHAT WAS MEASURED\n"
            "bad     cpu piece cpu1: too slow\n"
            "bad     disk write /ckpt: too slow\n"
            "ok      cpu piece cpu0: 20.00 ms\n");
}

}  // namespace
}  // namespace glim::cli
