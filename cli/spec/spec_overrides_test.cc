#include "cli/spec/spec_overrides.h"

#include <gtest/gtest.h>

#include "scheduler/jobfile/spec_reader.h"

namespace glim::cli {
namespace {

TEST(SpecFromCommand, OneWordIsAShellLineSeveralAreQuoted) {
  EXPECT_EQ(SpecFromCommand({"cd x && ls"}, "/w")->run(), "cd x && ls");
  EXPECT_EQ(SpecFromCommand({"echo", "a b", "", "$X"}, "/w")->run(), "echo 'a b' '' '$X'");
  EXPECT_EQ(SpecFromCommand({"/usr/bin/python3", "x.py"}, "/w")->name(), "python3");
  EXPECT_EQ(SpecFromCommand({"./.hidden"}, "/w")->name(), "hidden");
  EXPECT_EQ(SpecFromCommand({"///"}, "/w")->name(), "job");
  EXPECT_EQ(SpecFromCommand({"ls"}, "/w")->workdir(), "/w");
  EXPECT_FALSE(SpecFromCommand({}, "/w").ok());
  EXPECT_FALSE(SpecFromCommand({""}, "/w").ok());
  EXPECT_FALSE(SpecFromCommand({"a\x01"}, "/w").ok());
}

TEST(ApplyOverrides, ChangesWhatIsSetAndChecksIt) {
  glim::v1::JobSpec spec = jobfile::ReadSpecs("{name: a, run: x, nodes: 3}", {"job.yaml", "/"})->at(0);
  SpecOverrides overrides;
  ASSERT_TRUE(ApplyOverrides(overrides, &spec).ok());
  EXPECT_EQ(spec.nodes(), 3u);
  overrides.nodes = 5;
  overrides.grace = "10m";
  ASSERT_TRUE(ApplyOverrides(overrides, &spec).ok());
  EXPECT_EQ(spec.nodes(), 5u);
  EXPECT_EQ(spec.interrupt().grace_ms(), 600'000);
  EXPECT_EQ(spec.interrupt().max_grace_ms(), 600'000);
  overrides.nodes = -1;
  EXPECT_EQ(ApplyOverrides(overrides, &spec).field(), "nodes");
}

}  // namespace
}  // namespace glim::cli
