#include "scheduler/policy/policy_baselines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/policy/policy_file.h"

namespace glim::server {
namespace {

using core::NodeBaseline;

Result<PolicyFile> Read(const std::string& rows, const PolicyFile& base = {}) {
  return ReadPolicyText("health: {validate: {baselines: " + rows + "}}", "p.yaml", base);
}

TEST(PolicyBaselines, ARowIsForNodesOfItsKind) {
  const auto file = Read(
      "[{pool: train, gpu_type: h100, expected: {cpu.piece: 41.5, gpu.tensor: 5e2}},"
      " {expected: {disk.write: 880}}]");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::vector<NodeBaseline> expected = {
      {.pool = "train", .gpu_type = "h100", .expected = {{"cpu.piece", 41.5}, {"gpu.tensor", 500}}},
      {.expected = {{"disk.write", 880}}}};
  EXPECT_EQ(file->policy.health.validate.baselines, expected);
}

TEST(PolicyBaselines, WhatIsWrittenIsReadAgain) {
  EXPECT_EQ(BaselinesYaml({}), "[]");
  const std::vector<NodeBaseline> rows = {{.pool = "007", .expected = {{"cpu.piece", 41.66636900117737}}},
                                          {.gpu_type = "h100", .expected = {{"gpu.read", 3.6e3}, {"disk.fsync", 0.5}}}};
  const std::string text = BaselinesYaml(rows);
  const auto file = Read(text);
  ASSERT_TRUE(file.ok()) << text << ": " << file.status().message();
  EXPECT_EQ(file->policy.health.validate.baselines, rows);
  const auto again = ReadPolicyText(PolicyYaml(*file), "p.yaml");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->policy.health.validate, file->policy.health.validate);
  EXPECT_EQ(ChangesInWords(DiffPolicies({}, *file)), "health.validate.baselines [] -> " + text);
}

TEST(PolicyBaselines, AFileThatNamesThemHasAllOfThem) {
  const auto before = Read("[{expected: {cpu.piece: 1}}]");
  ASSERT_TRUE(before.ok());
  const auto kept = ReadPolicyText("health: {validate: {full: true}}", "p.yaml", *before);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->policy.health.validate.baselines, before->policy.health.validate.baselines);
  const auto after = Read("[]", *before);
  ASSERT_TRUE(after.ok());
  EXPECT_TRUE(after->policy.health.validate.baselines.empty());
}

struct Refused {
  const char* rows;
  const char* field;  // behind health.validate.
  const char* fix;
};

TEST(PolicyBaselines, EveryRefusalNamesItsPlaceAndAFix) {
  const Refused refusals[] = {
      {"{expected: {cpu.piece: 1}}", "baselines", "write it like [{pool"},
      {"[{expected: {cpu.piec: 1}}]", "baselines[0].expected.cpu.piec", "did you mean 'cpu.piece'?"},
      {"[{expected: {gears: 1}}]", "baselines[0].expected.gears", "--merge FILES --policy"},
      {"[{expected: {cpu.piece: 0}}]", "baselines[0].expected.cpu.piece", "use a number from"},
      {"[{expected: {cpu.piece: fast}}]", "baselines[0].expected.cpu.piece", "use a number from"},
      {"[{pool: train}]", "baselines[0].expected", "expected: {cpu.piece: 41.7}"},
      {"[{pool: 'a b', expected: {cpu.piece: 1}}]", "baselines[0].pool", ""},
      {"[{expected: {cpu.piece: 1}}, {pool: train, expected: {cpu.piece: 2}}]", "baselines[1]", "fewer nodes first"},
  };
  for (const Refused& refusal : refusals) {
    SCOPED_TRACE(refusal.rows);
    const auto file = Read(refusal.rows);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().field(), std::string("health.validate.") + refusal.field);
    EXPECT_NE(file.status().fix().find(refusal.fix), std::string::npos) << file.status().fix();
  }
}

}  // namespace
}  // namespace glim::server
