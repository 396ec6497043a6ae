#include "scheduler/identity/job_token.h"

#include <gtest/gtest.h>

#include <set>

#include "sdk/io/random_bytes.h"

namespace glim::identity {
namespace {

const std::string kSigningKey(32, 'k');

ClusterKey KeyOf(unsigned char byte) {
  ClusterKey::Bytes bytes;
  bytes.fill(std::byte{byte});
  return ClusterKey(bytes);
}

TEST(JobToken, IsTheHmacOfTheAttempt) {
  const OpaqueToken token = JobTokenOf(kSigningKey, {core::JobId(7), 2});
  // python3: hmac.new(b"k" * 32, b"job-token-id\n7.2", hashlib.sha256).hexdigest()[:16]
  EXPECT_EQ(token.id, "4fbd58e70d25796f");
  EXPECT_EQ(token.secret, "8fc791b776d27e624f1a96b656b46f7c722a00e474c551ea7bb7c0a9fca9a394");
  const auto parsed = ParseToken(token.Text());
  ASSERT_TRUE(parsed.ok()) << "it has the form of every token";
  EXPECT_EQ(parsed->id, token.id);
}

TEST(JobToken, IsAnotherOfEachAttemptAndOfEachKey) {
  std::set<std::string> ids, secrets;
  for (const auto& [job, attempt] : {std::pair(7, 1), {7, 2}, {8, 1}, {71, 1}}) {
    for (const std::string& key : {kSigningKey, std::string(32, 'l')}) {
      const OpaqueToken token = JobTokenOf(key, {core::JobId(job), static_cast<std::uint32_t>(attempt)});
      ids.insert(token.id);
      secrets.insert(token.secret);
    }
  }
  EXPECT_EQ(ids.size(), 8u);
  EXPECT_EQ(secrets.size(), 8u);
}

TEST(AttemptSecret, IsTheHmacOfTheAttemptAndOfNothingElse) {
  // python3: hmac.new(b"k" * 32, b"attempt-secret\n7.2", hashlib.sha256).hexdigest()
  EXPECT_EQ(AttemptSecretOf(kSigningKey, {core::JobId(7), 2}),
            "81a3171e75f03e501772c9fbc606f85f46b94db83c8c6b5464f7dc88bb5048f6");
  std::set<std::string> secrets;
  for (const auto& [job, attempt] : {std::pair(7, 1), {7, 2}, {8, 1}, {71, 1}}) {
    for (const std::string& key : {kSigningKey, std::string(32, 'l')}) {
      const core::AttemptId id{core::JobId(job), static_cast<std::uint32_t>(attempt)};
      secrets.insert(AttemptSecretOf(key, id));
      secrets.insert(JobTokenOf(key, id).secret);
    }
  }
  EXPECT_EQ(secrets.size(), 16u);
}

TEST(LaunchReceipt, IsOfTheKeyTheClusterTheNodeAndTheTaskAndOfNothingElse) {
  const core::TaskId task{{core::JobId(7), 1}, 0};
  const std::string receipt = LaunchReceiptOf(KeyOf(1), "lab", "n1", task);
  EXPECT_EQ(receipt.size(), 64u);
  EXPECT_TRUE(IsLaunchReceipt(KeyOf(1), "lab", "n1", task, receipt)) << "a store that was put back has the same key";
  EXPECT_FALSE(IsLaunchReceipt(KeyOf(2), "lab", "n1", task, receipt));
  EXPECT_FALSE(IsLaunchReceipt(KeyOf(1), "lab2", "n1", task, receipt));
  EXPECT_FALSE(IsLaunchReceipt(KeyOf(1), "lab", "n11", task, receipt));
  for (const core::TaskId& other : {core::TaskId{{core::JobId(8), 1}, 0}, core::TaskId{{core::JobId(7), 2}, 0},
                                    core::TaskId{{core::JobId(7), 1}, 1}, core::TaskId{{core::JobId(71), 1}, 0}}) {
    EXPECT_FALSE(IsLaunchReceipt(KeyOf(1), "lab", "n1", other, receipt));
  }
  EXPECT_FALSE(IsLaunchReceipt(KeyOf(1), "lab", "n1", task, ""));
  EXPECT_FALSE(IsLaunchReceipt(KeyOf(1), "lab", "n1", task, receipt.substr(0, 63)));
}

TEST(JobToken, ItsKeyIsSealed) {
  const core::SealedRow row = MakeSigningRow(KeyOf(1), FillRandomly);
  EXPECT_EQ(row.name, kSigningRow);
  const auto opened = OpenSigningRow(KeyOf(1), row);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->size(), 32u);
  EXPECT_EQ(row.bytes.find(*opened), std::string::npos);
  EXPECT_NE(*opened, *OpenSigningRow(KeyOf(1), MakeSigningRow(KeyOf(1), FillRandomly)));
  EXPECT_EQ(OpenSigningRow(KeyOf(2), row).status().reason(), "OTHER_KEY_FILE");
  EXPECT_EQ(OpenSigningRow(KeyOf(1), {kSigningRow, "v1:" + row.bytes}).status().reason(), "TORN_ROW");
}

}  // namespace
}  // namespace glim::identity
