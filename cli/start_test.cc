// A shell's loop starts `glim` again and again: what it loads each time is most of what a short call costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/testing/run_glim.h"

namespace glim::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Start, SharesLittleMoreThanTheCLibrary) {
  // The dynamic loader lists what it would load, and runs nothing.
  const GlimOptions trace{.env = {{"LD_TRACE_LOADED_OBJECTS", "1"}}, .folder = {}, .input = {}};
  const GlimResult listed = GlimProcess({}, trace).Finish();
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  ASSERT_THAT(listed.out, HasSubstr("libc.so"));
  for (const char* library : {"libgrpc", "libprotobuf", "libabsl", "libcrypto", "libarchive", "libstdc++"}) {
    EXPECT_THAT(listed.out, Not(HasSubstr(library))) << "glim links it statically, or loads it when it is needed";
  }
}

}  // namespace
}  // namespace glim::cli
