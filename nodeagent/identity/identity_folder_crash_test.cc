// The writer of an identity, killed or failed by the disk at each of its steps: what is there is the old one or the new
// one, and the next writer goes on.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "nodeagent/identity/identity_folder.h"
#include "scheduler/identity/cluster_authority.h"
#include "sdk/checkpoint/testing/stepped_process.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/pki/certificate_request.h"

namespace glim::nodeagent {
namespace {

using checkpoint::FileCall;
using checkpoint::SteppedProcess;

class IdentityWriterTest : public testing::Test {
 protected:
  static NodeCredentials Make(const std::string& cluster) {
    const auto authority = identity::ClusterAuthority::Create(cluster, WallTime(), FillRandomly);
    const pki::PrivateKey key = pki::PrivateKey::Make();
    auto certificate = authority->SignNode(pki::MakeRequest(key, "n1"), "n1", WallTime());
    return {key, std::move(certificate).value(), authority->Trust()};
  }
  static int Write(const std::string& state_dir, const NodeCredentials& credentials, const std::string& scheduler) {
    auto draft = IdentityFolder(state_dir).Begin();
    return draft.ok() && draft->Become(credentials, scheduler).ok() ? 0 : 1;
  }
  // "old", "new", or what is wrong. Key, certificate, authorities and address are of one of both.
  std::string What(const std::string& state_dir) const {
    const auto read = IdentityFolder(state_dir).Read();
    if (!read.ok()) return read.status().message();
    const std::string scheduler = IdentityFolder(state_dir).Scheduler();
    for (const auto& [name, whole] : {std::pair("old", &old_), std::pair("new", &new_)}) {
      if (read->key.Pem() == whole->key.Pem() && read->certificate == whole->certificate &&
          read->authorities == whole->authorities && scheduler == name) {
        return name;
      }
    }
    return "a mixture";
  }

  const NodeCredentials old_ = Make("c1"), new_ = Make("c2");
};

TEST_F(IdentityWriterTest, KilledAnywhereLeavesTheOldOneOrTheNewOne) {
  std::size_t olds = 0, news = 0;
  for (std::size_t at = 0;; ++at) {
    const TempFolder folder;
    ASSERT_EQ(Write(folder.path(), old_, "old"), 0);
    SteppedProcess writer([&] { return Write(folder.path(), new_, "new"); });
    for (std::size_t i = 0; i < at && writer.call(); ++i) writer.Step();
    if (!writer.call()) break;
    const FileCall call = *writer.call();
    writer.Kill();
    const std::string what = What(folder.path());
    ++(what == "old" ? olds : news);
    EXPECT_TRUE(what == "old" || what == "new") << "before " << call.name << " " << call.path << ": " << what;
    EXPECT_EQ(Write(folder.path(), new_, "new"), 0) << "the next one goes on";
    EXPECT_EQ(What(folder.path()), "new");
  }
  EXPECT_GT(olds, 5u);
  EXPECT_GT(news, 0u) << "not yet flushed, but there";
}

// A full disk has room for it all the same, once the writer has begun; any other fault leaves the old one.
TEST_F(IdentityWriterTest, FailedAnywhereSaysSoAndLeavesAWholeOne) {
  for (const int error : {EIO, ENOSPC}) {
    int written_although = 0;
    for (std::size_t at = 0;; ++at) {
      const TempFolder folder;
      ASSERT_EQ(Write(folder.path(), old_, "old"), 0);
      SteppedProcess writer([&] { return Write(folder.path(), new_, "new"); });
      for (std::size_t i = 0; i < at && writer.call(); ++i) writer.Step();
      if (!writer.call()) break;
      const FileCall call = *writer.call();
      const std::string where = std::to_string(error) + " of " + call.name + " " + call.path;
      writer.StepFailing(error);
      const int status = writer.RunToEnd();
      const std::string what = What(folder.path());
      EXPECT_TRUE(what == "new" || (what == "old" && status != 0)) << where << ": " << status << " " << what;
      if (call.is_write && error == EIO) {
        EXPECT_NE(status, 0) << where;
        EXPECT_EQ(what, "old") << where;
      }
      if (call.is_write && status == 0) ++written_although;
      if (call.name != "unlink") {
        for (const char* left : {"tmp", "spare"}) {
          EXPECT_FALSE(std::filesystem::exists(folder.path() + "/identity/node.pem." + left)) << where << ": a key";
        }
      }
      EXPECT_EQ(Write(folder.path(), new_, "new"), 0);
    }
    EXPECT_EQ(written_although > 0, error == ENOSPC);
  }
}

}  // namespace
}  // namespace glim::nodeagent
