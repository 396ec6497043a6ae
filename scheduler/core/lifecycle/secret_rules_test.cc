#include "scheduler/core/lifecycle/secret_rules.h"

#include <gtest/gtest.h>

#include "scheduler/core/model/spec_limits.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

SecretRow Row(const std::string& user, const std::string& name, std::size_t bytes = 10) {
  SecretRow row;
  row.user = user;
  row.name = name;
  row.sealed = "sealed";
  row.bytes = static_cast<std::uint32_t>(bytes);
  return row;
}

Identity With(const std::vector<SecretRow>& rows) {
  Identity identity;
  for (const SecretRow& row : rows) identity.Change({row});
  return identity;
}

TEST(SecretRules, AUserHasSoManyAndNoMore) {
  std::vector<SecretRow> rows = {Row("ana", "z"), Row("zoe", "a")};  // others' do not count
  for (std::size_t i = 0; i < kSecretsOfUserMax; ++i) rows.push_back(Row("kim", "s" + std::to_string(i)));
  const Identity identity = With(rows);
  EXPECT_EQ(CheckSecretFits(identity, Row("kim", "one-more")).reason(), "TOO_MANY_SECRETS");
  EXPECT_TRUE(CheckSecretFits(identity, Row("kim", "s7", kSecretBytesMax)).ok()) << "in place of the old value";
  EXPECT_TRUE(CheckSecretFits(identity, Row("zoe", "b")).ok());
}

TEST(SecretRules, AndSoManyBytesInAll) {
  const std::size_t full = kSecretBytesOfUserMax / 2;
  const Identity identity = With({Row("kim", "a", full), Row("kim", "b", full)});
  EXPECT_EQ(CheckSecretFits(identity, Row("kim", "c", 1)).reason(), "TOO_MANY_SECRETS");
  EXPECT_TRUE(CheckSecretFits(identity, Row("kim", "b", full)).ok());
}

TEST(SecretRules, AJobNamesItsUsersSecretsAlone) {
  const Identity identity = With({Row("kim", "hf"), Row("ana", "wandb")});
  JobSpec spec = testing::Spec(1);
  EXPECT_TRUE(CheckSecretsAreSet(identity, "kim", spec).ok());
  spec.secrets = {{"hf", ""}};
  EXPECT_TRUE(CheckSecretsAreSet(identity, "kim", spec).ok());
  spec.secrets = {{"hf", ""}, {"wandb", "WANDB_API_KEY"}};
  const Status refused = CheckSecretsAreSet(identity, "kim", spec);
  EXPECT_EQ(refused.reason(), "NO_SUCH_SECRET");
  EXPECT_EQ(refused.field(), "secrets[1]");
  EXPECT_EQ(refused.fix(), "glim secret set wandb takes its value from standard input");
}

// Whoever stole a job's token must not read its user's other secrets by a job that names them.
TEST(SecretRules, AJobsTokenHandsOnNoMoreThanTheJobHas) {
  JobSpec parent = testing::Spec(1), child = testing::Spec(1);
  EXPECT_TRUE(CheckSecretsOfParent(nullptr, child).ok());
  parent.secrets = {{"hf", ""}};
  child.secrets = {{"hf", "HF_TOKEN"}};
  EXPECT_TRUE(CheckSecretsOfParent(&parent, child).ok());
  child.secrets.push_back({"wandb", ""});
  const Status refused = CheckSecretsOfParent(&parent, child);
  EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(refused.reason(), "JOB_TOKEN");
  EXPECT_EQ(refused.field(), "secrets[1]");
  EXPECT_EQ(CheckSecretsOfParent(nullptr, child).reason(), "JOB_TOKEN") << "a job that is gone has none";
}

TEST(SecretRules, ASubmissionByAJobIsHeldToThat) {
  testing::Cluster c;
  ASSERT_TRUE(c.Do(ChangeIdentity{{{Row("ann", "hf")}, {Row("ann", "wandb")}}, "op"}).status.ok());
  JobSpec parent = testing::Spec(1);
  parent.secrets = {{"hf", ""}};
  const JobId job = c.Submit(parent);
  SubmitJobs event{"ann", "team", "", {testing::Spec(1), testing::Spec(1)}, false};
  event.specs[1].secrets = {{"wandb", ""}};
  event.parent = job;
  const Reply refused = c.Do(event);
  EXPECT_EQ(refused.status.reason(), "JOB_TOKEN");
  EXPECT_EQ(refused.status.field(), "specs[1].secrets[0]");
  event.specs[1].secrets = {{"hf", ""}};
  EXPECT_TRUE(c.Do(event).status.ok());
  event.parent = {};
  event.specs[1].secrets = {{"wandb", ""}};
  EXPECT_TRUE(c.Do(event).status.ok()) << "their user may";
}

}  // namespace
}  // namespace glim::core
