// glim submit --snapshot and glim plan --snapshot, the real program: what is packed, where it lies, what is sent, and
// what is refused before anything is submitted.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "cli/testing/cli_fixture.h"
#include "sdk/io/unique_fd.h"
#include "sdk/snapshot/archive.h"
#include "sdk/snapshot/sha256.h"

namespace glim::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SnapshotTest : public CliTest {
 protected:
  SnapshotTest() : root_(folder_ + "/shared") {
    const auto state = server_.Lock();
    state->checkpoint_root = root_;
    state->checkpoint_marker = ".glim-root-test";
    Write("shared/.glim-root-test", "");
    Write("w/train.py", "print('one')\n");
    Write("w/.glimignore", "*.log\n");
    Write("w/old.log", "noise");
    Write("w/job.yaml", kSpec);
  }

  std::string Own() const { return root_ + "/snapshots/" + std::to_string(::geteuid()); }
  std::vector<std::string> Archives() {
    std::vector<std::string> names;
    if (!fs::exists(Own())) return names;
    for (const auto& entry : fs::directory_iterator(Own())) names.push_back(entry.path().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  glim::v1::JobSpec Sent(std::size_t submission = 0, int spec = 0) {
    return server_.Lock()->submits.at(submission).specs(spec);
  }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  // The error of a submission that must not be.
  std::string Refused(std::vector<std::string> arguments) {
    const GlimResult result = Glim(std::move(arguments));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("field: code"));
    EXPECT_TRUE(server_.Lock()->submits.empty());
    EXPECT_THAT(Archives(), IsEmpty());
    return result.err;
  }

  std::string root_;
};

TEST_F(SnapshotTest, PacksTheWorkdirAndSendsWhereItLies) {
  const GlimResult result = Glim({"submit", "--snapshot", "w/job.yaml"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "1\n");
  const auto spec = Sent();
  EXPECT_EQ(spec.workdir(), folder_ + "/w");
  EXPECT_EQ(spec.snapshot().revision(), "");
  EXPECT_THAT(Archives(), ElementsAre(spec.snapshot().path()));
  EXPECT_EQ(spec.snapshot().path(), Own() + "/" + spec.snapshot().sha256() + ".tar.zst");
  const std::string bytes = Read(spec.snapshot().path());
  EXPECT_EQ(static_cast<std::int64_t>(bytes.size()), spec.snapshot().bytes());
  EXPECT_EQ(snapshot::Sha256Hex(bytes), spec.snapshot().sha256());
  EXPECT_THAT(result.err, HasSubstr("code of " + folder_ + "/w: snapshot " + spec.snapshot().sha256().substr(0, 6)));

  const std::string unpacked = folder_ + "/unpacked";
  fs::create_directory(unpacked);
  const UniqueFd unpacked_fd(::open(unpacked.c_str(), O_PATH | O_DIRECTORY));
  ASSERT_TRUE(snapshot::Unpack(bytes, unpacked_fd.get()).ok());
  EXPECT_EQ(Read(unpacked + "/train.py"), "print('one')\n");
  EXPECT_FALSE(fs::exists(unpacked + "/old.log"));
  struct stat info {};
  ASSERT_EQ(::stat((root_ + "/snapshots").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 01733u);
  ASSERT_EQ(::stat(Own().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_EQ(::stat(spec.snapshot().path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST_F(SnapshotTest, TheSameContentIsOneArchiveAndOtherContentAnother) {
  ASSERT_EQ(Glim({"submit", "--snapshot", "w/job.yaml"}).exit_code, 0);
  struct stat first {
  }, second{};
  ASSERT_EQ(::stat(Archives().at(0).c_str(), &first), 0);
  Write("w/new.log", "more noise");
  ASSERT_EQ(Glim({"submit", "--snapshot", "w/job.yaml"}).exit_code, 0);
  ASSERT_THAT(Archives(), testing::SizeIs(1));
  ASSERT_EQ(::stat(Archives().at(0).c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino) << "it is used, not written again";
  Write("w/train.py", "print('two')\n");
  ASSERT_EQ(Glim({"submit", "--snapshot", "w/job.yaml"}).exit_code, 0);
  EXPECT_THAT(Archives(), testing::SizeIs(2));
  EXPECT_NE(Sent(0).snapshot().sha256(), Sent(2).snapshot().sha256());
}

TEST_F(SnapshotTest, ACorruptArchiveIsReplaced) {
  ASSERT_EQ(Glim({"submit", "--snapshot", "w/job.yaml"}).exit_code, 0);
  const std::string path = Archives().at(0), good = Read(path);
  std::string bad = good;
  bad[bad.size() / 2] ^= 1;
  std::ofstream(path, std::ios::binary) << bad;
  ASSERT_EQ(Glim({"submit", "--snapshot", "w/job.yaml"}).exit_code, 0);
  EXPECT_EQ(Read(path), good);
}

TEST_F(SnapshotTest, DocumentsOfOneWorkdirShareOneArchive) {
  Write("w/job.yaml",
        "name: a\nrun: x\ncode: snapshot\n---\nname: b\nrun: y\ncode: snapshot\n---\nname: c\nrun: z\n"
        "code: workdir\n");
  const GlimResult result = Glim({"submit", "w/job.yaml"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Archives(), testing::SizeIs(1));
  EXPECT_EQ(Sent(0, 0).snapshot().sha256(), Sent(0, 1).snapshot().sha256());
  EXPECT_FALSE(Sent(0, 2).has_snapshot());
  EXPECT_EQ(result.err.find("code of"), result.err.rfind("code of")) << result.err;
}

TEST_F(SnapshotTest, PlanAndDryRunCheckAndWriteNothing) {
  ASSERT_EQ(Glim({"plan", "--snapshot", "w/job.yaml"}).exit_code, 0);
  ASSERT_EQ(Glim({"submit", "--dry-run", "--snapshot", "w/job.yaml"}).exit_code, 0);
  EXPECT_THAT(Archives(), IsEmpty());
  ASSERT_EQ(Glim({"submit", "--snapshot", "w/job.yaml"}).exit_code, 0);
  const auto planned = server_.Lock()->plans.at(0).specs(0);
  EXPECT_EQ(planned.snapshot().sha256(), Sent(1).snapshot().sha256());
}

TEST_F(SnapshotTest, WithoutARootNothingIsSubmitted) {
  server_.Lock()->checkpoint_root = "";
  EXPECT_THAT(Refused({"submit", "--snapshot", "w/job.yaml"}), HasSubstr("the operator sets 'checkpoint_root'"));
  server_.Lock()->checkpoint_root = folder_ + "/elsewhere";
  EXPECT_THAT(Refused({"submit", "--snapshot", "w/job.yaml"}),
              HasSubstr("this host does not see the cluster's checkpoint root: there is no " + folder_ +
                        "/elsewhere/.glim-root-test"));
  EXPECT_EQ(Glim({"submit", "w/job.yaml"}).exit_code, 0) << "without a snapshot no root is needed";
}

TEST_F(SnapshotTest, WhatCannotBePackedIsNotSubmitted) {
  fs::create_symlink("/data", folder_ + "/w/data");
  EXPECT_THAT(Refused({"submit", "--snapshot", "w/job.yaml"}), HasSubstr("the link data leads out of the workdir"));
  EXPECT_THAT(Refused({"plan", "--snapshot", "w/job.yaml"}),
              HasSubstr("fix: add /data to " + folder_ + "/w/.glimignore"));
  fs::remove(folder_ + "/w/data");
  Write("w/job.yaml", std::string(kSpec) + "workdir: gone\n");
  EXPECT_THAT(Refused({"submit", "--snapshot", "w/job.yaml"}), HasSubstr("cannot read " + folder_ + "/w/gone"));
}

TEST_F(SnapshotTest, StatusShowsTheSnapshot) {
  {
    const auto state = server_.Lock();
    auto& snapshot = *AddJob(state.state, 7, "queued").mutable_spec()->mutable_snapshot();
    snapshot.set_path("/shared/snapshots/x.tar.zst");
    snapshot.set_sha256("3f2a9c" + std::string(58, '0'));
    snapshot.set_revision("1a2b3c4d" + std::string(32, '0') + "-dirty");
    snapshot.set_bytes(1'258'291);
  }
  EXPECT_THAT(Glim({"status", "7"}).out, HasSubstr("code        snapshot 3f2a9c (git 1a2b3c4-dirty), 1.2 MiB\n"));
  const json document = json::parse(Glim({"status", "7", "-o", "json"}).out);
  EXPECT_EQ(document["job"]["spec"]["snapshot"]["bytes"], 1'258'291);
}

}  // namespace
}  // namespace glim::cli
