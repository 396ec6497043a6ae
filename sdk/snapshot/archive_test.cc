// What goes into an archive of code comes out of it, the same content gives the same bytes, and an archive that was
// made to do harm does none.
#include "sdk/snapshot/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "sdk/base/rng.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/io/unique_fd.h"
#include "sdk/snapshot/link_rule.h"
#include "sdk/snapshot/sha256.h"

namespace glim::snapshot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Kind = Entry::Kind;

Status UnpackInto(const std::string& bytes, const std::string& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY));
  return Unpack(bytes, fd.get());
}

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() {
    char name[] = "/tmp/glim-snapshot-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~ArchiveTest() override { fs::remove_all(root_); }

  std::string Folder(const std::string& name) {
    fs::create_directories(root_ + "/" + name);
    return root_ + "/" + name;
  }
  static void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    std::ofstream(path, std::ios::binary) << text;
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  std::string root_;
};

TEST_F(ArchiveTest, WhatGoesInComesOut) {
  const std::string from = Folder("from"), to = Folder("to");
  const std::string deep = "deep/" + std::string(120, 'd') + "/" + std::string(120, 'e');
  const std::string odd = "no\xff utf-8\n.txt";
  fs::create_directories(from + "/" + deep);
  fs::create_directories(from + "/empty");
  Write(from + "/run.sh", "#!/bin/sh\n", 0755);
  Write(from + "/secret", "s", 0600);
  Write(from + "/" + odd, std::string("\0\1", 2));
  Write(from + "/" + deep + "/big", std::string(300'000, 'x'));
  fs::create_symlink("../run.sh", from + "/deep/link");
  ASSERT_EQ(::chmod((from + "/empty").c_str(), 0500), 0);
  std::vector<Entry> entries = {{"deep", Kind::kFolder}, {"deep/link", Kind::kLink}};
  entries.push_back({deep.substr(0, deep.rfind('/')), Kind::kFolder});
  entries.push_back({deep, Kind::kFolder});
  entries.push_back({deep + "/big", Kind::kFile});
  entries.push_back({"empty", Kind::kFolder});
  entries.push_back({odd, Kind::kFile});
  entries.push_back({"run.sh", Kind::kFile});
  entries.push_back({"secret", Kind::kFile});
  const auto packed = Pack(from, entries);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ(packed->content_bytes, 10 + 1 + 2 + 300'000);
  const Status unpacked = UnpackInto(packed->bytes, to);
  ASSERT_TRUE(unpacked.ok()) << unpacked.message();
  EXPECT_EQ(Read(to + "/run.sh"), "#!/bin/sh\n");
  EXPECT_EQ(ModeOf(to + "/run.sh"), 0755u);
  EXPECT_EQ(ModeOf(to + "/secret"), 0600u);
  EXPECT_EQ(ModeOf(to + "/empty"), 0700u) << "the owner may always change a folder, or nobody could remove it";
  EXPECT_EQ(Read(to + "/" + odd), std::string("\0\1", 2));
  EXPECT_EQ(Read(to + "/" + deep + "/big").size(), 300'000u);
  EXPECT_EQ(fs::read_symlink(to + "/deep/link"), "../run.sh");
  EXPECT_GT(fs::last_write_time(to + "/secret"), fs::last_write_time(from + "/secret") - std::chrono::hours(1));
}

TEST_F(ArchiveTest, TheSameContentGivesTheSameBytes) {
  std::vector<std::string> archives;
  for (const char* name : {"one", "two"}) {
    const std::string folder = Folder(name);
    Write(folder + "/a", "text");
    fs::create_directory(folder + "/b");
    fs::last_write_time(folder + "/a", fs::file_time_type::clock::now() - std::chrono::hours(archives.size() * 100));
    archives.push_back(Pack(folder, {{"a", Kind::kFile}, {"b", Kind::kFolder}})->bytes);
  }
  EXPECT_EQ(archives[0], archives[1]);
  EXPECT_EQ(Sha256Hex(archives[0]), Sha256Hex(archives[1]));
  Write(root_ + "/two/a", "texT");
  EXPECT_NE(archives[0], Pack(root_ + "/two", {{"a", Kind::kFile}, {"b", Kind::kFolder}})->bytes);
}

TEST_F(ArchiveTest, WhatIsNoLongerWhatItWasIsRefused) {
  const std::string folder = Folder("f");
  Write(folder + "/file", "x");
  fs::create_symlink("/etc", folder + "/link");
  for (const Entry& entry : {Entry{"file", Kind::kFolder}, Entry{"file", Kind::kLink}, Entry{"link", Kind::kFile},
                             Entry{"link", Kind::kLink}, Entry{"gone", Kind::kFile}}) {
    const auto packed = Pack(folder, {entry});
    ASSERT_FALSE(packed.ok());
    EXPECT_EQ(packed.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(packed.status().message(), HasSubstr(entry.path));
  }
}

// An archive of whatever entries a test wants.
using Fill = std::function<void(archive* writer, archive_entry* entry)>;
std::string Forge(const std::vector<Fill>& fills) {
  std::string bytes(1 << 20, '\0');
  std::size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_gnutar(writer);
  archive_write_add_filter_zstd(writer);
  archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  for (const Fill& fill : fills) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, 0);
    fill(writer, entry);
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  bytes.resize(used);
  return bytes;
}
Fill Named(const std::string& path, mode_t type = AE_IFREG) {
  return [=](archive* writer, archive_entry* entry) {
    archive_entry_set_filetype(entry, type);
    archive_entry_copy_pathname(entry, path.c_str());
    archive_write_header(writer, entry);
  };
}
Fill Link(const std::string& path, const std::string& target, bool hard = false) {
  return [=](archive* writer, archive_entry* entry) {
    archive_entry_copy_pathname(entry, path.c_str());
    if (hard) {
      archive_entry_copy_hardlink(entry, target.c_str());
    } else {
      archive_entry_set_filetype(entry, AE_IFLNK);
      archive_entry_copy_symlink(entry, target.c_str());
    }
    archive_write_header(writer, entry);
  };
}
Fill Sized(const std::string& path, std::int64_t size) {
  return [=](archive* writer, archive_entry* entry) {
    archive_entry_copy_pathname(entry, path.c_str());
    archive_entry_set_size(entry, size);
    archive_write_header(writer, entry);
  };
}

TEST_F(ArchiveTest, WhatWouldLeadOutIsRefused) {
  const std::string outside = Folder("outside");
  const std::pair<const char*, std::vector<Fill>> cases[] = {
      {"leads out", {Named("../escaped")}},
      {"leads out", {Named(outside + "/escaped")}},
      {"leads out", {Named("a/../../escaped")}},
      {"leads out", {Named("a//b")}},
      {"leads out of it", {Link("l", outside)}},
      {"leads out of it", {Link("l", "..")}},
      {"leads out of it", {Named("a", AE_IFDIR), Link("a/up", "../.."), Named("a/up/escaped")}},
      {"cannot write", {Named("d", AE_IFDIR), Link("l", "d"), Named("l/through")}},
      {"hard link", {Named("a"), Link("l", "a", true)}},
      {"neither a file", {Named("pipe", AE_IFIFO)}},
      {"neither a file", {Named("device", AE_IFBLK)}},
      {"twice", {Named("a"), Named("a")}},
      {"too large", {Sized("a", kSnapshotContentBytesMax + 1)}},
  };
  int number = 0;
  for (const auto& [said, fills] : cases) {
    const std::string to = Folder("to-" + std::to_string(number++));
    const Status status = UnpackInto(Forge(fills), to);
    EXPECT_FALSE(status.ok()) << said;
    EXPECT_THAT(status.message(), HasSubstr(said));
    EXPECT_FALSE(fs::exists(root_ + "/escaped"));
    EXPECT_TRUE(fs::is_empty(outside));
    EXPECT_FALSE(fs::exists(to + "/d/through"));
  }
}

TEST_F(ArchiveTest, TooManyEntriesAreRefused) {
  std::vector<Fill> fills;
  for (std::size_t i = 0; i <= kSnapshotEntriesMax; ++i) fills.push_back(Named("f" + std::to_string(i)));
  const Status status = UnpackInto(Forge(fills), Folder("to"));
  EXPECT_THAT(status.message(), HasSubstr("one too many"));
}

TEST_F(ArchiveTest, SpoiltBytesAreAnErrorAndNothingElse) {
  const std::string from = Folder("from");
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919);
  Write(from + "/a", text);
  const std::string good = Pack(from, {{"a", Kind::kFile}})->bytes;
  EXPECT_EQ(UnpackInto("", Folder("nothing")).code(), StatusCode::kDataLoss);
  EXPECT_EQ(UnpackInto("no archive", Folder("text")).code(), StatusCode::kDataLoss);
  EXPECT_FALSE(UnpackInto(good.substr(0, good.size() / 2), Folder("half")).ok());
  Rng rng(7);
  for (int i = 0; i < 200; ++i) {
    std::string bad = good;
    for (int n = 0; n < 3; ++n) bad[rng.Next() % bad.size()] = static_cast<char>(rng.Next());
    (void)UnpackInto(
        bad, Folder("bad-" + std::to_string(i)));  // whatever comes of it: it does not crash, nor write elsewhere
  }
}

TEST(LinkRule, WhichLinksStayInside) {
  const std::pair<std::pair<const char*, const char*>, bool> cases[] = {
      {{"l", "a"}, true},
      {{"l", "a/b"}, true},
      {{"l", "."}, true},
      {{"l", "./a"}, true},
      {{"l", ".."}, false},
      {{"l", "../x"}, false},
      {{"l", "/etc"}, false},
      {{"l", ""}, false},
      {{"d/l", ".."}, true},
      {{"d/l", "../x"}, true},
      {{"d/l", "../.."}, false},
      {{"d/e/l", "../../x"}, true},
      {{"d/e/l", "../../../x"}, false},
      {{"d/l", "a/../../.."}, false},
      {{"l", "a/../b"}, false},  // `a` may be a link to a folder further down, whose ".." is another one
      {{"l", "..a"}, true},
      {{"l", "a//b"}, true},
  };
  for (const auto& [link, stays] : cases) {
    EXPECT_EQ(LinkStaysInside(link.first, link.second), stays) << link.first << " -> " << link.second;
  }
}

TEST(SnapshotName, IsToldFromOtherPaths) {
  const std::string hash = Sha256Hex("abc");
  EXPECT_EQ(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string path = SnapshotPath("/ckpt", 4'294'967'294, hash);
  EXPECT_EQ(path, "/ckpt/snapshots/4294967294/" + hash + ".tar.zst");
  const auto parts = ParseSnapshotPath(path);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->root, "/ckpt");
  EXPECT_EQ(parts->uid, 4'294'967'294);
  EXPECT_EQ(parts->sha256, hash);
  for (const char* other :
       {"/ckpt/", "/ckpt/snapshots/x", "/ckpt/mysnapshots/", "snapshots/", "snapshots/7/", "/ckpt/mysnapshots/7/",
        "/7/", "/ckpt/snapshots//", "/ckpt/snapshots/kim/", "/ckpt/snapshots/07/", "/ckpt/snapshots/-7/",
        "/ckpt/snapshots/4294967296/", "/ckpt/snapshots/7/7/"}) {
    EXPECT_FALSE(ParseSnapshotPath(other + hash + ".tar.zst")) << other;
  }
  for (const std::string& other : {"/ckpt/snapshots/7/" + hash, std::string()}) EXPECT_FALSE(ParseSnapshotPath(other));
}

// Of a version before; jobs that were queued then name them.
TEST(SnapshotName, AnArchiveInNoUsersFolderIsKnownAsWell) {
  const std::string hash = Sha256Hex("abc"), path = "/ckpt/snapshots/7/snapshots/" + hash + ".tar.zst";
  const auto parts = ParseSnapshotPath(path);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->root, "/ckpt/snapshots/7");
  EXPECT_FALSE(parts->uid);
  EXPECT_EQ(parts->sha256, hash);
}

}  // namespace
}  // namespace glim::snapshot
