#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <thread>

#include "nodeagent/saves/save_copier.h"
#include "nodeagent/saves/testing/saves.h"
#include "sdk/base/testing/waits.h"
#include "sdk/checkpoint/format/crc32c.h"

namespace glim::nodeagent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::uint32_t Sum(const std::string& text) { return checkpoint::Crc32c(std::as_bytes(std::span(text))); }

class SaveFailureTest : public SaveCopyTest {
 protected:
  // What the copy ends with, and that nothing of it is left.
  Status Fails(const CopyOrder& order) {
    const Status status = Copy(order);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(here_.Has(order.local)) << "published though it failed";
    for (const std::string& name : here_.Jobs()) EXPECT_FALSE(name.starts_with(".copy-")) << name << " is left";
    return status;
  }
};

TEST_F(SaveFailureTest, AWrongTokenLearnsNothing) {
  there_.Write("s/a", "1");
  there_.Serve();
  const SaveSource good = there_.SourceFor("s", "node-2");
  for (const std::string& token : {std::string(), std::string(64, '0'), there_.SourceFor("s", "node-3").token,
                                   there_.SourceFor("other", "node-2").token}) {
    for (const std::string local : {"s", "is-not-there"}) {
      const Status status = Fails(Order(local, {{good.node, good.address, token}}));
      EXPECT_THAT(status.message(), HasSubstr("node node-1 does not take the token"));
    }
  }
}

TEST_F(SaveFailureTest, NoPathLeadsOut) {
  std::ofstream(there_.state() + "/secret") << "secret";
  there_.Write("s/a", "1");
  there_.Serve();
  for (const std::string local : {"..", "../../secret", "s/../../../secret", "/etc/passwd", "", ".", "s//a", "s/."}) {
    v1::FetchRequest request;
    request.set_job_id(kTestJob);
    request.set_local(local);
    request.set_reader("node-2");
    request.set_token(there_.SourceFor(local, "node-2").token);  // even if the scheduler said so
    grpc::ClientContext context;
    const auto stub =
        v1::SaveApi::NewStub(grpc::CreateChannel(there_.server().address(), grpc::InsecureChannelCredentials()));
    const auto reader = stub->Fetch(&context, request);
    v1::FetchChunk chunk;
    EXPECT_FALSE(reader->Read(&chunk)) << local;
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT) << local;
  }
}

TEST_F(SaveFailureTest, NoLinkIsFollowed) {
  std::ofstream(there_.state() + "/secret") << "secret";
  there_.Write("s/a", "1");
  std::filesystem::create_directories(there_.checkpoints() + "/linked");
  std::filesystem::create_symlink(there_.state() + "/secret", there_.checkpoints() + "/linked/file");
  std::filesystem::create_symlink(there_.checkpoints() + "/s", there_.checkpoints() + "/folder");
  std::filesystem::create_symlink(there_.state(), there_.checkpoints() + "/out");
  ASSERT_EQ(::mkfifo((there_.checkpoints() + "/pipe").c_str(), 0600), 0);
  there_.Serve();
  for (const std::string local : {"linked", "folder", "folder/a", "out/secret", "pipe"}) {
    const Status status = Fails(Order(local, {there_.SourceFor(local, "node-2")}));
    EXPECT_THAT(status.message(), testing::AnyOf(HasSubstr("neither a file nor a folder"), HasSubstr("not followed")))
        << local;
  }
  // Nor where the copy goes: the job's folder is the task's.
  std::filesystem::create_directories(here_.checkpoints());
  std::filesystem::create_symlink(here_.state(), here_.checkpoints() + "/attempt-1");
  there_.Write("attempt-1/s/a", "1");
  const Status status = Copy(Order("attempt-1/s", {there_.SourceFor("attempt-1/s", "node-2")}));
  EXPECT_THAT(status.message(), HasSubstr("links are not followed"));
  EXPECT_FALSE(std::filesystem::exists(here_.state() + "/s"));
}

TEST_F(SaveFailureTest, WhatASourceSendsIsChecked) {
  const std::string text = "the data";
  const auto size = static_cast<std::int64_t>(text.size());
  const struct {
    const char* said;
    std::vector<v1::FetchChunk> chunks;
  } cases[] = {
      {"checksum", {FileChunk("a", size), DataChunk("the dat_"), EndChunk(Sum(text)), DoneChunk(1, size)}},
      {"4 of 8 bytes", {FileChunk("a", size), DataChunk("the "), EndChunk(Sum("the ")), DoneChunk(1, size)}},
      {"longer than", {FileChunk("a", 3), DataChunk(text), EndChunk(Sum(text)), DoneChunk(1, 3)}},
      {"was to have 2", {FileChunk("a", size), DataChunk(text), EndChunk(Sum(text)), DoneChunk(2, size)}},
      {"was to have 1", {FileChunk("a", size), DataChunk(text), DoneChunk(1, size)}},
      {"ended before its last file", {FileChunk("a", size), DataChunk(text), EndChunk(Sum(text))}},
      {"ended before its last file", {}},
      {"data came without a file", {DataChunk(text), DoneChunk(0, 0)}},
      {"a file ended that had not begun", {EndChunk(0), DoneChunk(0, 0)}},
      {"a file began before", {FileChunk("a", size), FileChunk("b", size), DoneChunk(0, 0)}},
      {"is no path of a save", {FileChunk("../a", size), DoneChunk(0, 0)}},
      {"is no path of a save", {FileChunk("/etc/passwd", size), DoneChunk(0, 0)}},
      {"is no path of a save", {FileChunk("../", 0), DoneChunk(0, 0)}},
      {"is no path of a save", {FileChunk("a", -1), DoneChunk(0, 0)}},
  };
  for (const auto& c : cases) {
    ScriptedSource source(c.chunks);
    EXPECT_THAT(Fails(Order("s", {source.source()})).message(), HasSubstr(c.said));
  }
}

TEST_F(SaveFailureTest, ATornFirstSourceLeavesNothingInWhatTheSecondGives) {
  ScriptedSource torn(
      {FileChunk("a", 4), DataChunk("torn"), EndChunk(Sum("torn")), FileChunk("of-the-first", 9), DataChunk("1")},
      {grpc::StatusCode::UNAVAILABLE, "the node went down"});
  there_.Write("s/a", "whole");
  there_.Serve();
  ASSERT_TRUE(Copy(Order("s", {torn.source(), there_.SourceFor("s", "node-2")})).ok());
  EXPECT_EQ(torn.calls(), 1);
  EXPECT_EQ(here_.Read("s/a"), "whole");
  EXPECT_FALSE(here_.Has("s/of-the-first"));
  EXPECT_EQ(progress_.bytes, 4 + 1 + 5) << "it only grows";
}

TEST_F(SaveFailureTest, ASourceThatStallsIsGivenUp) {
  ScriptedSource stalled({FileChunk("a", 4), DataChunk("1")});
  stalled.hang = true;
  CopyPlace place = Place();
  place.stall = std::chrono::milliseconds(300);
  const Status status = CopySave(place, Order("s", {stalled.source()}), progress_);
  EXPECT_THAT(status.message(), HasSubstr("nothing came for 300 ms"));
  there_.Write("s/a", "1");
  there_.Serve();
  // On a busy machine the other source may be taken for stalled as well.
  EXPECT_TRUE(Eventually([&] {
    return CopySave(place, Order("s", {stalled.source(), there_.SourceFor("s", "node-2")}), progress_).ok();
  }));
}

TEST_F(SaveFailureTest, EveryCauseIsNamed) {
  there_.Serve();
  const SaveSource nobody{"node-9", "127.0.0.1:1", "x"};
  const Status status = Fails(Order("s", {there_.SourceFor("s", "node-2"), nobody}));
  EXPECT_THAT(status.message(),
              HasSubstr("save s of job 7 could not be copied: node node-1 (" + there_.server().address() +
                        "): node node-1 has no save s of job 7; "
                        "node node-9 (127.0.0.1:1): "));
}

// A copy may be faster than what is to happen in its middle: then once more, under another name.
constexpr int kTriesMax = 20;

TEST_F(SaveFailureTest, ASourceThatDiesInMidCopy) {
  Status status;
  std::string save;
  for (int tries = 0; tries < kTriesMax && status.ok(); ++tries) {
    save = "s" + std::to_string(tries);
    there_.Write(save + "/a", Bytes(64 << 20));
    there_.Serve();
    progress_.bytes = 0;
    std::jthread copying([&] { status = Copy(Order(save, {there_.SourceFor(save, "node-2")})); });
    while (progress_.bytes == 0) std::this_thread::yield();
    there_.Die();
  }
  ASSERT_FALSE(status.ok()) << "the death was never in the middle";
  EXPECT_FALSE(here_.Has(save));
}

TEST_F(SaveFailureTest, ACancelledCopyEndsSoonAndLeavesNothing) {
  ScriptedSource stalled({FileChunk("a", 4), DataChunk("1")});
  stalled.hang = true;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Status> ended;
  CopyPlace place = Place();
  place.stall = 2 * LongWait();  // not what ends it
  SaveCopier copier(place, 1);
  const auto progress = copier.Start(Order("s", {stalled.source()}), [&](const Status& status) {
    std::lock_guard lock(mutex);
    ended = status;
    changed.notify_all();
  });
  while (progress->bytes == 0) std::this_thread::yield();
  const auto waiting = copier.Start(Order("t", {stalled.source()}), [](const Status&) { FAIL() << "it never began"; });
  EXPECT_TRUE(copier.Cancel(waiting)) << "it had not begun";
  EXPECT_FALSE(copier.Cancel(progress));
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, LongWait(), [&] { return ended.has_value(); }));
  EXPECT_EQ(ended->code(), StatusCode::kCancelled);
  EXPECT_THAT(here_.Jobs(), IsEmpty());
}

TEST_F(SaveFailureTest, AReaderThatTakesNothingIsDropped) {
  there_.Write("s/a", Bytes(64 << 20));
  there_.Serve([](SaveServerOptions& options) {
    options.idle = std::chrono::milliseconds(500);
    options.fetches_at_once = 1;
  });
  v1::FetchRequest request;
  request.set_job_id(kTestJob);
  request.set_local("s");
  request.set_reader("node-2");
  request.set_token(there_.SourceFor("s", "node-2").token);
  grpc::ClientContext context;
  const auto stub =
      v1::SaveApi::NewStub(grpc::CreateChannel(there_.server().address(), grpc::InsecureChannelCredentials()));
  const auto reader = stub->Fetch(&context, request);
  v1::FetchChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  // On a busy machine the other reader may be taken for such a one as well.
  EXPECT_TRUE(Eventually([&] { return Copy(Order("s", {there_.SourceFor("s", "node-2")})).ok(); }))
      << "the only place is free again";
  context.TryCancel();
}

// Mounted where the state folder's checkpoints are.
TEST_F(SaveFailureTest, AFullDiskIsThisNodesOwnFault) {
  const std::string checkpoints = here_.state() + "/checkpoints";
  std::filesystem::create_directory(checkpoints);
  if (::geteuid() != 0 || ::mount("none", checkpoints.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "needs root to make a small disk";
  }
  there_.Write("s/a", Bytes(4 << 20));
  there_.Serve();
  ScriptedSource second({});
  const Status status = Fails(Order("s", {there_.SourceFor("s", "node-2"), second.source()}));
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("cannot write save/a: No space left on device"));
  EXPECT_EQ(second.calls(), 0) << "no other source would help";
  EXPECT_EQ(::umount(checkpoints.c_str()), 0);
}

TEST_F(SaveFailureTest, AFileThatGrowsWhileItIsReadIsNoSave) {
  there_.Serve();
  Status status;
  for (int tries = 0; tries < kTriesMax && status.ok(); ++tries) {
    const std::string save = "s" + std::to_string(tries);
    there_.Write(save + "/a", Bytes(32 << 20));
    progress_.bytes = 0;
    std::jthread copying([&] { status = Copy(Order(save, {there_.SourceFor(save, "node-2")})); });
    while (progress_.bytes == 0) std::this_thread::yield();
    std::ofstream(there_.checkpoints() + "/" + save + "/a", std::ios::app) << "more";
  }
  EXPECT_THAT(status.message(), HasSubstr("changed while it was read"));
}

}  // namespace
}  // namespace glim::nodeagent
