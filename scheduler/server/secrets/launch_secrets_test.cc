// What a launch gets of its job's secrets and token, and what becomes of one that cannot have them.
#include "scheduler/server/secrets/launch_secrets.h"

#include <gtest/gtest.h>

#include <cstring>

#include "scheduler/core/testing/specs.h"
#include "scheduler/identity/job_token.h"
#include "scheduler/identity/seal.h"
#include "sdk/io/random_bytes.h"
#include "sdk/tokens/opaque_token.h"
#include "sdk/tokens/replica_token.h"

namespace glim::server {
namespace {

using core::testing::AttemptRow;
using core::testing::JobRow;
using core::testing::Spec;

constexpr core::JobId kJob{7};
constexpr core::AttemptId kAttempt{kJob, 2};

class LaunchSecretsTest : public ::testing::Test {
 protected:
  LaunchSecretsTest() { source_.random = FillRandomly; }

  void MakeSigningKey() { identity_.Change({identity::MakeSigningRow(*source_.key, source_.random)}); }

  void SetSecret(const std::string& user, const std::string& name, const std::string& value) {
    core::SecretRow row;
    row.user = user;
    row.name = name;
    row.sealed = identity::Seal(*source_.key, "secret", user + "/" + name, value, source_.random);
    identity_.Change({row});
  }
  // What the launch of this spec's job becomes; empty: it is not in the set any more.
  v1::DesiredState Sent(const core::JobSpec& spec, LaunchSecrets* result) {
    core::ClusterState state;
    core::Job job = JobRow(kJob.value, spec);
    job.user = "kim";
    state.Put(std::move(job));
    state.Put(AttemptRow(kAttempt, core::AttemptState::kStarting, {core::NodeId(1)}));
    Snapshot snapshot;
    snapshot.tables = state.tables();
    snapshot.tables.identity = std::make_shared<const core::Identity>(identity_);
    v1::DesiredState set;
    v1::DesiredTask& stopped = *set.add_tasks();  // of another job: it is left as it is
    stopped.mutable_attempt()->set_job_id(3);
    stopped.mutable_stop();
    v1::DesiredTask& task = *set.add_tasks();
    task.mutable_attempt()->set_job_id(kJob.value);
    task.mutable_attempt()->set_number(kAttempt.number);
    if (!launched_) task.mutable_launch()->set_run("true");
    if (!peer_.empty()) {
      v1::EnvVar& peer = *task.mutable_launch()->add_env();
      peer.set_name("GLIM_REPLICA_PEER");
      peer.set_value(peer_);
      task.mutable_launch()->mutable_task_user()->set_uid(1000);
    }
    *result = AddSecrets(snapshot, source_, TimePoint{5000}, &set);
    EXPECT_TRUE(set.tasks(0).has_stop());
    return set;
  }

  SecretSource source_{identity::ClusterKey(identity::ClusterKey::Bytes{}), {}, [] { return "head:7601"; }, {}, ""};
  core::Identity identity_;
  bool launched_ = false;  // the agent has reported the task
  std::string peer_;       // where the task's copies go; empty: nowhere
};

constexpr const char* kPeer = "aa@10.0.0.2:7010";

TEST_F(LaunchSecretsTest, AJobWithoutAnyIsAsItWas) {
  source_.key.reset();
  LaunchSecrets result;
  const v1::DesiredState set = Sent(Spec(1), &result);
  ASSERT_EQ(set.tasks_size(), 2);
  EXPECT_EQ(set.tasks(1).launch().secrets_size(), 0);
  EXPECT_FALSE(set.tasks(1).launch().api());
  EXPECT_TRUE(result.failed.empty() && result.waiting.empty() && result.wanted.changes.empty());
}

TEST_F(LaunchSecretsTest, ValuesAreItsUsersOwn) {
  MakeSigningKey();
  SetSecret("kim", "hf", "kims value");
  SetSecret("ana", "hf", "anas value");
  core::JobSpec spec = Spec(1);
  spec.secrets = {{"hf", "HF_TOKEN"}};
  LaunchSecrets result;
  const v1::DesiredState set = Sent(spec, &result);
  ASSERT_EQ(set.tasks_size(), 2);
  ASSERT_EQ(set.tasks(1).launch().secrets_size(), 1);
  EXPECT_EQ(set.tasks(1).launch().secrets(0).name(), "hf");
  EXPECT_EQ(set.tasks(1).launch().secrets(0).value(), "kims value");
  EXPECT_EQ(set.tasks(1).launch().secrets(0).env(), "HF_TOKEN");
}

TEST_F(LaunchSecretsTest, OneThatIsGoneFailsTheJob) {
  core::JobSpec spec = Spec(1);
  spec.secrets = {{"hf", ""}};
  LaunchSecrets result;
  EXPECT_EQ(Sent(spec, &result).tasks_size(), 1);
  ASSERT_EQ(result.failed.size(), 1u);
  EXPECT_EQ(result.failed[0].id, (core::TaskId{kAttempt, 0}));
  EXPECT_TRUE(result.failed[0].start_failed && result.failed[0].job_fault);
  EXPECT_EQ(result.failed[0].message, "secret hf is not set any more: glim secret set hf, and submit the job again");
}

// Sealed bytes that were moved to another row, and those of another key file, are nothing.
TEST_F(LaunchSecretsTest, WhatDoesNotOpenFailsTheJob) {
  SetSecret("ana", "hf", "anas value");
  core::SecretRow moved = *identity_.secrets.Find({"ana", "hf"});
  moved.user = "kim";
  identity_.Change({moved});
  core::JobSpec spec = Spec(1);
  spec.secrets = {{"hf", ""}};
  LaunchSecrets result;
  EXPECT_EQ(Sent(spec, &result).tasks_size(), 1);
  ASSERT_EQ(result.failed.size(), 1u);
  EXPECT_EQ(result.failed[0].message.find("anas value"), std::string::npos);
  EXPECT_TRUE(result.failed[0].job_fault);
}

TEST_F(LaunchSecretsTest, WithoutIdentityThereIsNeither) {
  source_.key.reset();
  core::JobSpec spec = Spec(1);
  spec.api = true;
  LaunchSecrets result;
  EXPECT_EQ(Sent(spec, &result).tasks_size(), 1);
  ASSERT_EQ(result.failed.size(), 1u);
  EXPECT_NE(result.failed[0].message.find("without identity"), std::string::npos);
}

// First the cluster's signing key, then the token's row, then the token.
TEST_F(LaunchSecretsTest, ATokenComesWhenItsRowIsThere) {
  core::JobSpec spec = Spec(1);
  spec.api = true;
  LaunchSecrets key, row, token;
  EXPECT_EQ(Sent(spec, &key).tasks_size(), 1);
  ASSERT_EQ(key.wanted.changes.size(), 1u);
  EXPECT_TRUE(key.wanted.changes[0].only_new);
  EXPECT_EQ(key.waiting, (std::vector<core::TaskId>{{kAttempt, 0}}));
  EXPECT_TRUE(key.failed.empty());
  identity_.Change(key.wanted.changes[0]);

  EXPECT_EQ(Sent(spec, &row).tasks_size(), 1);
  ASSERT_EQ(row.wanted.changes.size(), 1u);
  const auto& made = std::get<core::TokenRow>(row.wanted.changes[0].row);
  EXPECT_EQ(made.user, "kim");
  EXPECT_EQ(made.scope, core::Scope::kSubmit);
  EXPECT_EQ(made.origin, core::TokenOrigin::kJob);
  EXPECT_EQ(made.attempt, kAttempt);
  EXPECT_EQ(row.note.object, "job 7");
  EXPECT_NE(row.note.after.find(made.id), std::string::npos);
  identity_.Change(row.wanted.changes[0]);

  const v1::DesiredState set = Sent(spec, &token);
  ASSERT_EQ(set.tasks_size(), 2);
  EXPECT_TRUE(token.wanted.changes.empty());
  const v1::TaskLaunch& launch = set.tasks(1).launch();
  EXPECT_TRUE(launch.api());
  const auto parsed = ParseToken(launch.api_token());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->id, made.id);
  EXPECT_TRUE(SameHash(HashOf(parsed->secret), made.hash));
  ASSERT_EQ(launch.env_size(), 1);
  EXPECT_EQ(launch.env(0).name() + "=" + launch.env(0).value(), "GLIM_SERVER=head:7601");
  EXPECT_EQ(Sent(spec, &token).tasks(1).launch().api_token(), launch.api_token()) << "as often as it is asked for";
  // No row has it in the clear.
  for (const core::IdentityRow& kept : identity_.Rows()) {
    const auto* of_token = std::get_if<core::TokenRow>(&kept);
    EXPECT_TRUE(of_token == nullptr || of_token->hash != parsed->secret);
    if (const auto* sealed = std::get_if<core::SealedRow>(&kept)) {
      EXPECT_EQ(sealed->bytes.find(parsed->secret), std::string::npos);
    }
  }
}

// Whatever its job asks for; of an attempt all have the same, or none has one.
TEST_F(LaunchSecretsTest, EachTaskHasItsAttemptsSecret) {
  LaunchSecrets key, sent;
  EXPECT_EQ(Sent(Spec(1), &key).tasks_size(), 1) << "no task of the cluster starts without, and another with one";
  EXPECT_EQ(key.waiting, (std::vector<core::TaskId>{{kAttempt, 0}}));
  EXPECT_TRUE(key.failed.empty());
  ASSERT_EQ(key.wanted.changes.size(), 1u);
  identity_.Change(key.wanted.changes[0]);

  const v1::DesiredState set = Sent(Spec(1), &sent);
  ASSERT_EQ(set.tasks_size(), 2);
  EXPECT_TRUE(sent.failed.empty() && sent.waiting.empty() && sent.wanted.changes.empty());
  const std::string secret = set.tasks(1).attempt_secret();
  EXPECT_EQ(secret.size(), 64u);
  EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(set.tasks(0).attempt_secret(), "") << "a task that is stopped needs none";
  launched_ = true;
  EXPECT_EQ(Sent(Spec(1), &sent).tasks(1).attempt_secret(), secret) << "for an agent that begins it again";
  for (const core::IdentityRow& kept : identity_.Rows()) {
    const auto* sealed = std::get_if<core::SealedRow>(&kept);
    EXPECT_TRUE(sealed == nullptr || sealed->bytes.find(secret) == std::string::npos) << "it is kept nowhere";
  }
}

TEST_F(LaunchSecretsTest, WithoutAKeyThatOpensAllTasksGoWithoutTheirAttemptsSecret) {
  core::SealedRow row = identity::MakeSigningRow(*source_.key, source_.random);
  row.bytes += "torn";
  identity_.Change({row});
  LaunchSecrets result;
  const v1::DesiredState set = Sent(Spec(1), &result);
  ASSERT_EQ(set.tasks_size(), 2);
  EXPECT_EQ(set.tasks(1).attempt_secret(), "");
  EXPECT_TRUE(source_.signing_fault_told->load()) << "the log says so";
}

class ReplicaTokenTest : public LaunchSecretsTest {
 protected:
  ReplicaTokenTest() {
    source_.cluster = "c1";
    source_.authority = [this] { return authority_; };
    peer_ = kPeer;
  }
  v1::DesiredState SentWithKey() {
    MakeSigningKey();
    LaunchSecrets token;
    v1::DesiredState set = Sent(Spec(1), &token);
    EXPECT_TRUE(token.failed.empty() && token.waiting.empty());
    return set;
  }
  void ExpectWithoutCopies() {
    LaunchSecrets result;
    const v1::DesiredState set = Sent(Spec(1), &result);
    ASSERT_EQ(set.tasks_size(), 2);
    EXPECT_EQ(set.tasks(1).launch().replica_token(), "");
    EXPECT_TRUE(result.failed.empty() && result.waiting.empty() && result.wanted.changes.empty());
  }

  std::shared_ptr<const identity::ClusterAuthority> authority_ = std::make_shared<const identity::ClusterAuthority>(
      identity::ClusterAuthority::Create("c1", TimePoint{1'800'000'000'000}, FillRandomly).value());
};

TEST_F(ReplicaTokenTest, IsOfTheAttemptAndSignedByTheKeyThatServicesAreTold) {
  const v1::DesiredState set = SentWithKey();
  ASSERT_EQ(set.tasks_size(), 2);
  const auto token = ParseReplicaToken(set.tasks(1).launch().replica_token());
  ASSERT_TRUE(token.ok()) << set.tasks(1).launch().replica_token();
  Snapshot snapshot;
  snapshot.tables.identity = std::make_shared<const core::Identity>(identity_);
  snapshot.policy = std::make_shared<const core::Policy>();
  v1::Welcome told;
  TellReplicaKeys(snapshot, source_, &told);
  ASSERT_EQ(told.replica_keys_size(), 1);
  Ed25519Key key;
  ASSERT_EQ(told.replica_keys(0).size(), key.size());
  std::memcpy(key.data(), told.replica_keys(0).data(), key.size());
  const auto claims = CheckReplicaCertificate(token->certificate, {&key, 1});
  ASSERT_TRUE(claims.ok());
  EXPECT_EQ(claims->cluster, "c1");
  EXPECT_EQ(claims->job, kJob.value);
  EXPECT_EQ(claims->attempt, kAttempt.number);
  EXPECT_EQ(claims->user, "kim");
  EXPECT_EQ(claims->uid, 1000u);
}

TEST_F(ReplicaTokenTest, ATaskWithoutAPlaceForCopiesHasNone) {
  peer_.clear();
  MakeSigningKey();
  LaunchSecrets result;
  EXPECT_EQ(Sent(Spec(1), &result).tasks(1).launch().replica_token(), "");
  EXPECT_TRUE(result.waiting.empty());
}

// Copies are for speed: nothing is refused for want of a key.
TEST_F(ReplicaTokenTest, WithoutIdentityTheJobGoesWithoutCopies) {
  source_.key.reset();
  ExpectWithoutCopies();
}

TEST_F(ReplicaTokenTest, WithAKeyThatDoesNotOpenTheJobGoesWithoutCopiesAndTheLogSaysSoOnce) {
  core::SealedRow row = identity::MakeSigningRow(*source_.key, source_.random);
  row.bytes += "torn";
  identity_.Change({row});
  EXPECT_FALSE(source_.signing_fault_told->load());
  ExpectWithoutCopies();
  EXPECT_TRUE(source_.signing_fault_told->load());
  ExpectWithoutCopies();
}

TEST_F(ReplicaTokenTest, ServicesAreToldAnewWhenTheKeyIsThereAndWhenThePolicyIsAnother) {
  Snapshot snapshot;
  snapshot.tables.identity = std::make_shared<const core::Identity>(identity_);
  snapshot.policy = std::make_shared<const core::Policy>();
  v1::Welcome told;
  TellReplicaKeys(snapshot, source_, &told);
  EXPECT_EQ(told.replica_keys_size(), 0);
  EXPECT_FALSE(told.private_fabric());
  const std::string before = ReplicaWord(snapshot);
  const auto wanted = WantedSigningKey(snapshot, source_);
  ASSERT_TRUE(wanted.has_value());
  identity_.Change(wanted->changes.at(0));
  snapshot.tables.identity = std::make_shared<const core::Identity>(identity_);
  EXPECT_FALSE(WantedSigningKey(snapshot, source_).has_value());
  const std::string with_key = ReplicaWord(snapshot);
  EXPECT_NE(with_key, before);
  core::Policy policy;
  policy.fabric_private = true;
  snapshot.policy = std::make_shared<const core::Policy>(policy);
  EXPECT_NE(ReplicaWord(snapshot), with_key);
  TellReplicaKeys(snapshot, source_, &told);
  EXPECT_TRUE(told.private_fabric());
}

}  // namespace
}  // namespace glim::server
