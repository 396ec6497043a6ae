// What a spec may say of whom to tell.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/core/model/validate_spec.h"

namespace glim::core {
namespace {

JobSpec Told(std::vector<std::string> on, std::vector<std::string> to) {
  JobSpec spec;
  spec.name = "a";
  spec.workdir = "/tmp";
  spec.run = "true";
  spec.notify = {std::move(on), std::move(to)};
  return spec;
}

TEST(ValidateNotify, SaysWhenAndWhom) {
  EXPECT_TRUE(ValidateSpec(Told({}, {})).ok()) << "nobody is told";
  EXPECT_TRUE(ValidateSpec(Told({"interrupted", "failed", "done"}, {"chat", "pager"})).ok());
  struct Row {
    std::vector<std::string> on, to;
    const char* field;
  };
  const Row rows[] = {{{"done", "started"}, {"chat"}, "notify.on[1]"},
                      {{"done", "done"}, {"chat"}, "notify.on[1]"},
                      {{"done"}, {}, "notify.to"},
                      {{}, {"chat"}, "notify.on"},
                      {{"done"}, {"a b"}, "notify.to[0]"},
                      {{"done"}, {"chat", "chat"}, "notify.to[1]"},
                      {{"done"}, {"1", "2", "3", "4", "5", "6", "7", "8", "9"}, "notify.to"}};
  for (const Row& row : rows) {
    const Status status = ValidateSpec(Told(row.on, row.to));
    EXPECT_EQ(status.field(), row.field) << status.message();
    EXPECT_FALSE(status.fix().empty());
  }
}

}  // namespace
}  // namespace glim::core
