// What of a workdir is packed: git's rules, held against git itself on random trees; and what is refused in which
// words.
#include "cli/snapshot/workdir_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/snapshot/git.h"
#include "sdk/base/rng.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/base/testing/seeds.h"

namespace glim::cli {
namespace {

namespace fs = std::filesystem;
using snapshot::Entry;
using testing::ElementsAre;
using testing::HasSubstr;

class WorkdirTest : public testing::Test {
 protected:
  WorkdirTest() {
    char name[] = "/tmp/glim-workdir-XXXXXX";
    root_ = ::mkdtemp(name);
    // Nothing of this machine's configuration plays a part.
    for (const char* variable : {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}) ::setenv(variable, "/dev/null", 1);
    for (const char* who : {"GIT_AUTHOR_", "GIT_COMMITTER_"}) {
      ::setenv((std::string(who) + "NAME").c_str(), "kim", 1);
      ::setenv((std::string(who) + "EMAIL").c_str(), "kim@example.org", 1);
    }
  }
  ~WorkdirTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text = "x") {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path, std::ios::binary) << text;
  }
  // Of a shell line in the folder.
  std::string Run(const std::string& line) {
    std::FILE* pipe = ::popen(("cd " + root_ + " && { " + line + "; } 2>&1").c_str(), "r");
    std::string text;
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
    EXPECT_EQ(::pclose(pipe), 0) << line << "\n" << text;
    return text;
  }
  std::vector<std::string> Names(const std::string& folder = "") {
    const std::string path = root_ + (folder.empty() ? "" : "/" + folder);
    const auto entries = ListWorkdir(path, ReadGit(path).tracked);
    EXPECT_TRUE(entries.ok()) << entries.status().message();
    std::vector<std::string> names;
    if (!entries.ok()) return names;
    for (const Entry& entry : *entries) names.push_back(entry.path + (entry.kind == Entry::Kind::kFolder ? "/" : ""));
    return names;
  }
  Status Refusal() {
    const auto entries = ListWorkdir(root_, {});
    EXPECT_FALSE(entries.ok());
    EXPECT_EQ(entries.status().field(), "code");
    return entries.status();
  }

  std::string root_;
};

TEST_F(WorkdirTest, TakesAllButWhatIsIgnoredAndGitItself) {
  Write("train.py");
  Write("lib/net.py");
  Write("lib/.git", "gitdir: elsewhere");
  Write(".git/config");
  Write("lib/__pycache__/net.pyc");
  Write("lib/.gitignore", "__pycache__/\n");
  Write("runs/1/log");
  Write(".glimignore", "/runs\n");
  fs::create_directory(root_ + "/empty");
  fs::create_symlink("lib/net.py", root_ + "/net.py");
  ASSERT_EQ(::mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(Names(),
              ElementsAre(".glimignore", "empty/", "lib/", "lib/.gitignore", "lib/net.py", "net.py", "train.py"));
}

TEST_F(WorkdirTest, GlimignoreComesBeforeGitignore) {
  Write(".gitignore", "*.so\nbuild/\ndata\n");
  Write(".glimignore", "!kernel.so\n!build/\n*.md\n");
  for (const char* name : {"kernel.so", "other.so", "build/made", "data/set", "README.md"}) Write(name);
  EXPECT_THAT(Names(), ElementsAre(".gitignore", ".glimignore", "build/", "build/made", "kernel.so"));
}

TEST_F(WorkdirTest, RulesOfTheWorkTreeAboveTheWorkdirHold) {
  Run("git init -q --template= .");
  Write(".gitignore", "*.ckpt\n/exp/one/out\n/one/keep\n");
  Write("exp/.gitignore", "tmp/\n");
  for (const char* name : {"a.ckpt", "out/x", "sub/out", "tmp/x", "one/keep", "keep", "train.py"}) {
    Write(std::string("exp/one/") + name);
  }
  EXPECT_THAT(Names("exp/one"), ElementsAre("keep", "one/", "one/keep", "sub/", "sub/out", "train.py"));
}

TEST_F(WorkdirTest, WhatGitTracksNoGitignoreLeavesOut) {
  Write(".gitignore", "*.bin\nbuild/\n");
  for (const char* name : {"tracked.bin", "other.bin", "build/deep/tracked", "build/deep/other", "build/x"})
    Write(name);
  Run("git init -q --template= . && git add -f tracked.bin build/deep/tracked");
  EXPECT_THAT(Names(), ElementsAre(".gitignore", "build/", "build/deep/", "build/deep/tracked", "tracked.bin"));
  Write(".glimignore", "build/\n");
  EXPECT_THAT(Names(), ElementsAre(".gitignore", ".glimignore", "tracked.bin")) << "a .glimignore does";
}

TEST_F(WorkdirTest, TheRevisionSaysWhetherTrackedFilesDiffer) {
  Write("w/a");
  EXPECT_EQ(ReadGit(root_ + "/w").revision, "") << "no repository";
  Run("git init -q --template= .");
  EXPECT_EQ(ReadGit(root_ + "/w").revision, "") << "no commit";
  Run("git add . && git commit -q -m first");
  const std::string head = Run("git rev-parse HEAD").substr(0, 40);
  EXPECT_EQ(ReadGit(root_ + "/w").revision, head);
  Write("w/untracked");
  Write("elsewhere/b");
  EXPECT_EQ(ReadGit(root_ + "/w").revision, head);
  Write("w/a", "changed");
  EXPECT_EQ(ReadGit(root_ + "/w").revision, head + "-dirty");
}

// A folder that somebody hands over, with its .git: looking at it is not running what they wrote into it.
TEST_F(WorkdirTest, NothingIsRunThatTheFoldersConfigurationNames) {
  Write("a");
  Write("b");
  Write(".gitattributes", "* filter=evil diff=evil\n");
  Run("git init -q --template= . && git add . && git commit -q -m first");
  const std::string head = Run("git rev-parse HEAD").substr(0, 40), run = "touch " + root_ + "/was-run; cat";
  for (const char* key : {"filter.evil.clean", "filter.evil.process", "filter.evil.smudge", "diff.evil.textconv",
                          "diff.evil.command", "diff.external", "core.fsmonitor", "core.sshCommand", "core.pager",
                          "core.alternateRefsCommand", "core.editor", "credential.helper", "gpg.program"}) {
    Run("git config " + std::string(key) + " '" + run + "'");
  }
  Run("git config filter.evil.required true; mkdir -p hooks; git config core.hooksPath hooks;"
      "for h in post-index-change fsmonitor-watchman query-watchman; do"
      "  printf '#!/bin/sh\n" +
      run + "\n' >hooks/$h; chmod +x hooks/$h; done; touch a b");
  EXPECT_EQ(ReadGit(root_).revision, head);
  EXPECT_EQ(ReadGit(root_).tracked.size(), 3u);
  EXPECT_FALSE(fs::exists(root_ + "/was-run"));
  Write("a", "y");  // as long as before
  EXPECT_EQ(ReadGit(root_).revision, head + "-dirty");
  EXPECT_FALSE(fs::exists(root_ + "/was-run"));
  Run("git -c core.fsmonitor=false status >was-told 2>&1 || true");
  EXPECT_TRUE(fs::exists(root_ + "/was-run")) << "git itself does";
}

TEST_F(WorkdirTest, TheUsersOwnFiltersHold) {
  Write("a", "lower\n");
  Write(".gitattributes", "a filter=upper\n");
  Write("config", "[filter \"upper\"]\n\tclean = tr a-z A-Z\n");
  ::setenv("GIT_CONFIG_GLOBAL", (root_ + "/config").c_str(), 1);
  Run("git init -q --template= . && git add a .gitattributes && git commit -q -m first && touch a");
  EXPECT_EQ(ReadGit(root_).revision, Run("git rev-parse HEAD").substr(0, 40));
}

TEST_F(WorkdirTest, AWorkTreeOfItsOwnAndOfLongerHashesHasARevision) {
  Run("git init -q --template= --object-format=sha256 r && cd r && echo x >a && git add a && git commit -q -m first"
      " && git worktree add -q ../tree");
  const std::string head = Run("git -C tree rev-parse HEAD").substr(0, 64);
  EXPECT_EQ(ReadGit(root_ + "/tree").revision, head);
  Write("tree/a", "changed");
  EXPECT_EQ(ReadGit(root_ + "/tree").revision, head + "-dirty");
}

TEST_F(WorkdirTest, WithoutGitTheRulesHoldAndTheRevisionIsEmpty) {
  Run("git init -q --template= . && git commit -q --allow-empty -m first");
  Write(".gitignore", "*.o\n");
  Write("a.o");
  Write("a.c");
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  EXPECT_EQ(ReadGit(root_).revision, "");
  EXPECT_THAT(Names(), ElementsAre(".gitignore", "a.c"));
  ::setenv("PATH", path.c_str(), 1);
}

TEST_F(WorkdirTest, WhatIsTooLargeNamesTheLargest) {
  for (int i = 1; i <= 7; ++i) {
    Write("data/" + std::to_string(i));
    fs::resize_file(root_ + "/data/" + std::to_string(i), static_cast<std::uintmax_t>(i) * 4 << 20);
  }
  const Status status = Refusal();
  EXPECT_EQ(status.message(), "the workdir " + root_ +
                                  " has 112.0 MiB to pack, at most 64MiB are allowed; the largest: data/7 (28.0 MiB), "
                                  "data/6 (24.0 MiB), data/5 (20.0 MiB), data/4 (16.0 MiB), data/3 (12.0 MiB)");
  EXPECT_THAT(status.fix(), HasSubstr(root_ + "/.glimignore"));
  Write(".glimignore", "/data/[5-7]\n");
  EXPECT_EQ(Names().size(), 1u + 1 + 4);
}

TEST_F(WorkdirTest, LinksThatLeadOutAreRefusedByName) {
  Write("train.py");
  for (const char* target : {"/data/set", "../other", "train.py/../../x"}) {
    fs::create_symlink(target, root_ + "/set");
    const Status status = Refusal();
    EXPECT_THAT(status.message(), HasSubstr("the link set leads out of the workdir, to " + std::string(target)));
    EXPECT_THAT(status.fix(), HasSubstr("add /set to " + root_ + "/.glimignore"));
    fs::remove(root_ + "/set");
  }
  fs::create_symlink("/data/set", root_ + "/set");
  Write(".glimignore", "/set\n");
  EXPECT_THAT(Names(), ElementsAre(".glimignore", "train.py"));
}

TEST_F(WorkdirTest, TooManyFilesAreRefused) {
  Write("one");
  for (std::size_t i = 0; i < kSnapshotEntriesMax; ++i) {
    ASSERT_EQ(::link((root_ + "/one").c_str(), (root_ + "/f" + std::to_string(i)).c_str()), 0);
  }
  EXPECT_THAT(Refusal().message(), HasSubstr("more than 50000 files and folders"));
}

// A random pattern of what git's rules are made of: mostly such that they match something of a random tree.
std::string RandomPattern(Rng& rng) {
  static const char* const kParts[] = {"a",   "b",   "c",    "ab",   "*",     "?",   "**",          "/",   "/",
                                       "**/", "/**", "[ab]", "[!a]", "[a-b]", "\\a", "[[:alpha:]]", "*.x", ".x",
                                       "[",   "]",   "!",    "-",    "\\",    " ",   "[]b]",        "***"};
  std::string pattern = rng.OneIn(4) ? "!" : "";
  if (rng.OneIn(5)) pattern += "/";
  for (std::int64_t n = rng.Between(1, 4); n > 0; --n) {
    pattern += kParts[static_cast<std::size_t>(rng.Between(0, std::ssize(kParts) - 1))];
  }
  if (rng.OneIn(4)) pattern += "/";
  return pattern;
}

void MakeRandomTree(Rng& rng, const std::string& folder, int depth) {
  static const char* const kNames[] = {"a", "b", "c", "ab", "ba", "a.x", "b.x", "]", "-", "a b", "ca"};
  fs::create_directories(folder);
  for (const char* name : kNames) {
    if (rng.OneIn(2)) continue;
    if (depth > 0 && rng.OneIn(2)) {
      MakeRandomTree(rng, folder + "/" + name, depth - 1);
    } else if (rng.OneIn(8)) {
      fs::create_symlink(".", folder + "/" + name);
    } else {
      std::ofstream(folder + "/" + name) << "x";
    }
  }
  if (!rng.OneIn(2)) return;
  std::ofstream rules(folder + "/.gitignore");
  for (std::int64_t n = rng.Between(1, 5); n > 0; --n) rules << RandomPattern(rng) << "\n";
}

TEST_F(WorkdirTest, AgreesWithGitOnRandomTreesAndPatterns) {
  const std::string kept = root_;
  for (std::uint64_t seed = 1; seed <= SeedsOf(40, 10); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    root_ = kept + "/" + std::to_string(seed);
    MakeRandomTree(rng, root_, 3);
    Run("git init -q --template= .");
    if (rng.OneIn(2)) {
      Run("find . -path ./.git -prune -o -type f -print | sort | awk 'NR % 5 == 0' | tr '\\n' '\\0' |"
          " xargs -0 -r git add -f --");
    }
    std::vector<std::string> theirs;
    const std::string listed = Run("git ls-files -z -c -o --exclude-standard | sort -z");
    for (std::size_t at = 0; at < listed.size();) {
      const std::size_t end = listed.find('\0', at);
      theirs.push_back(listed.substr(at, end - at));
      at = end + 1;
    }
    std::vector<std::string> ours;
    for (const std::string& name : Names()) {
      if (!name.ends_with('/')) ours.push_back(name);
    }
    std::sort(theirs.begin(), theirs.end());
    ASSERT_EQ(ours, theirs) << Run("find . -name .gitignore | while read f; do echo \"== $f\"; cat \"$f\"; done");
    fs::remove_all(root_);
  }
  root_ = kept;
}

}  // namespace
}  // namespace glim::cli
