// Which folders a job needs of its nodes, what is refused at once, and that a job goes where it is given what it names.
#include "scheduler/core/model/allowed_paths.h"

#include <gtest/gtest.h>

#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

JobSpec In(const std::string& workdir, std::uint32_t nodes = 1) {
  return SpecWith(nodes, [&](JobSpec& s) { s.workdir = workdir; });
}

std::string FieldsOf(const JobSpec& spec) {
  std::string fields;
  for (const NamedPath& named : PathsOnNodes(spec)) {
    fields += (fields.empty() ? "" : " ") + named.field + "=" + named.path;
  }
  return fields;
}

TEST(IsWithin, GoesByComponents) {
  EXPECT_TRUE(IsWithin("/data", "/data"));
  EXPECT_TRUE(IsWithin("/data/set/1", "/data"));
  EXPECT_FALSE(IsWithin("/database", "/data"));
  EXPECT_FALSE(IsWithin("/", "/data"));
  EXPECT_TRUE(IsWithin("/anything", "/"));
}

TEST(PathsOnNodes, LeavesOutWhatTheTaskHasOfItsOwn) {
  for (const char* own : {"", "/", "/tmp", "/usr", "/usr/share/x", "/opt/conda"}) {
    EXPECT_EQ(FieldsOf(In(own)), "") << own;
  }
  EXPECT_EQ(FieldsOf(In("/tmp/mine")), "workdir=/tmp/mine") << "the node's, below the container's own";
  EXPECT_EQ(FieldsOf(In("/home/ann")), "workdir=/home/ann");
  JobSpec spec = In("/job/ann");
  spec.mounts = {{"/srv/ann", "/job", false}, {"/data/set", "/set", true}};
  spec.checkpoint_dir = "/job/ckpt";
  EXPECT_EQ(FieldsOf(spec), "mounts[0].source=/srv/ann mounts[1].source=/data/set") << "the rest lies in a mount";
  spec.checkpoint_dir = "/ckpt/${GLIM_JOB_NAME}/$GLIM_JOB_ID";
  spec.name = "sft";
  spec.mounts.clear();
  EXPECT_EQ(FieldsOf(spec), "workdir=/job/ann checkpoint.dir=/ckpt/sft/$GLIM_JOB_ID");
  spec.snapshot.path = "code/7";
  EXPECT_EQ(FieldsOf(spec), "checkpoint.dir=/ckpt/sft/$GLIM_JOB_ID") << "it runs in the snapshot";
}

// A cluster whose nodes give these folders, one list a node.
void AddGivers(Cluster& c, const std::vector<std::vector<std::string>>& lists) {
  for (const auto& folders : lists) c.AddNode(Labels("z1", "l1"), "", folders);
}

using FolderLists = std::vector<std::vector<std::string>>;

struct PathCase {
  const char* what;
  FolderLists lists;
  JobSpec spec;
  const char* field;  // "": it is feasible
  const char* message;
  const char* fix;
};

JobSpec ChangedSpec(void (*change)(JobSpec&)) { return SpecWith(1, change); }

const PathCase kPathCases[] = {
    {"nodes that give everything", {{}, {}}, In("/srv/me"), "", "", ""},
    {"below a folder that they give", {{"/home", "/data"}}, In("/data/me"), "", "", ""},
    {"one of the nodes does", {{"/home"}, {"/data"}}, In("/data/me"), "", "", ""},
    {"one of the nodes gives everything", {{"/home"}, {}}, In("/data/me"), "", "", ""},
    {"in no folder",
     {{"/home", "/data"}, {"/data", "/scratch"}},
     In("/srv/me"),
     "workdir",
     "workdir /srv/me is in no folder that the nodes of pool default give to jobs",
     "use a folder below one of: /data, /home, /scratch"},
    {"a name that only begins alike",
     {{"/data"}},
     In("/database"),
     "workdir",
     "workdir /database is in no folder that the nodes of pool default give to jobs",
     "use a folder below one of: /data"},
    {"a checkpoint folder",
     {{"/data"}},
     ChangedSpec([](JobSpec& s) { s.workdir = "/tmp", s.checkpoint_dir = "/ckpt/$GLIM_JOB_ID"; }),
     "checkpoint.dir",
     "checkpoint.dir /ckpt/$GLIM_JOB_ID is in no folder that the nodes of pool default give to jobs",
     "use a folder below one of: /data"},
    {"a mount",
     {{"/data"}},
     ChangedSpec([](JobSpec& s) {
       s.workdir = "/tmp", s.mounts = {{"/data/a", "/a", true}, {"/shared", "/b", true}};
     }),
     "mounts[1].source",
     "mounts[1].source /shared is in no folder that the nodes of pool default give to jobs",
     "use a folder below one of: /data"},
    {"an image in a file",
     {{"/data"}},
     ChangedSpec([](JobSpec& s) { s.workdir = "/tmp", s.image = "sqfs:/shared/torch.sqsh"; }),
     "image",
     "image /shared/torch.sqsh is in no folder that the nodes of pool default give to jobs",
     "use a folder below one of: /data"},
    {"too few of the nodes",
     {{"/home"}, {"/data"}, {"/data"}},
     In("/home/me", 2),
     "workdir",
     "only 1 node of pool default give the job workdir /home/me and what else it names, 2 are needed",
     "use a folder below one of: /data, /home"},
    {"each path on another node",
     {{"/home"}, {"/data"}},
     ChangedSpec([](JobSpec& s) { s.workdir = "/home/me", s.checkpoint_dir = "/data/ckpt"; }),
     "checkpoint.dir",
     "checkpoint.dir /data/ckpt is in no folder that the nodes of pool default give to jobs",
     "use a folder below one of: /data, /home"},
    {"many folders",
     {{"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h", "/i", "/j"}},
     In("/srv/me"),
     "workdir",
     "workdir /srv/me is in no folder that the nodes of pool default give to jobs",
     "use a folder below one of: /a, /b, /c, /d, /e, /f, /g, /h and 2 more"},
};

TEST(CheckFeasible, RefusesAPathThatTooFewNodesGive) {
  for (const PathCase& row : kPathCases) {
    SCOPED_TRACE(row.what);
    Cluster c(Zones{.nodes = 0});
    AddGivers(c, row.lists);
    const Status status = CheckFeasible(c.state(), c.policy(), row.spec, "ann");
    EXPECT_EQ(status.ok(), *row.field == 0) << status.message();
    EXPECT_EQ(status.field(), row.field);
    EXPECT_EQ(status.message(), row.message);
    EXPECT_EQ(status.fix(), row.fix);
    EXPECT_EQ(status.reason(), *row.field == 0 ? "" : "INFEASIBLE");
  }
}

TEST(CheckFeasible, AnArchiveOfCodeIsTakenFromAFolderOfTheClustersThatIsNoOtherUsers) {
  Cluster c(Zones{.nodes = 1});
  c.policy().checkpoint_root = "/shared";
  User kim{"kim"}, lee{"lee"};
  kim.uid = kim.gid = 1001;
  lee.uid = lee.gid = 1002;
  c.SetUser(kim);
  c.SetUser(lee);
  const std::string hash(64, 'a'), file = hash + ".tar.zst";
  const auto check = [&](const std::string& user, const std::string& path) {
    return CheckFeasible(c.state(), c.policy(),
                         SpecWith(1,
                                  [&](JobSpec& s) {
                                    s.snapshot = {path, hash, "", 1};
                                  }),
                         user);
  };
  EXPECT_TRUE(check("kim", "/shared/snapshots/1001/" + file).ok());
  EXPECT_TRUE(check("kim", "/shared/snapshots/0/" + file).ok()) << "of a submission by root";
  EXPECT_TRUE(check("ann", "/shared/snapshots/1003/" + file).ok()) << "the registry does not have everybody";
  const auto refused = [&](const std::string& user, const std::string& path) {
    const Status status = check(user, path);
    EXPECT_EQ(status.field(), "snapshot.path") << path;
    EXPECT_FALSE(status.fix().empty()) << path;
    return status.message();
  };
  for (const char* other : {"lee", "ann"}) {
    EXPECT_EQ(refused(other, "/shared/snapshots/1001/" + file), "is in the folder of user kim's archives");
  }
  EXPECT_EQ(refused("kim", "/elsewhere/snapshots/1001/" + file), "is not below the cluster's checkpoint root, /shared");
  EXPECT_EQ(refused("kim", "/shared/snapshots/" + file),
            "is in no user's folder: archives lie in /shared/snapshots/UID")
      << "of a command line of before";
}

TEST(CheckFeasible, OnlyNodesThatAreAsThePlacementAsksCount) {
  Cluster c(Zones{.nodes = 0});
  c.AddNode(Labels("z1", "l1"), "", {"/home"});
  c.AddNode(Labels("z2", "l2"), "", {"/data"});
  JobSpec spec = In("/data/me");
  spec.placement.zones = {"z1"};
  EXPECT_EQ(CheckFeasible(c.state(), c.policy(), spec, "ann").fix(), "use a folder below one of: /home");
}

TEST(Placement, AJobGoesWhereItIsGivenWhatItNames) {
  Cluster c(Zones{.nodes = 0});
  AddGivers(c, {{"/home"}, {"/data"}, {"/home"}, {"/data"}});
  const JobId data = c.Submit(In("/data/me", 2));
  EXPECT_EQ(c.attempt(data).nodes, (std::vector{NodeId(2), NodeId(4)}));
  const JobId home = c.Submit(In("/home/me", 2));
  EXPECT_EQ(c.attempt(home).nodes, (std::vector{NodeId(1), NodeId(3)}));
}

TEST(Placement, AJobWaitsForTheNodesThatGiveItWhatItNames) {
  Cluster c(Zones{.nodes = 0});
  AddGivers(c, {{"/home"}, {"/data"}});
  const JobId first = c.Running(In("/data/me"));
  const JobId second = c.Submit(In("/data/you"), "bob");
  EXPECT_EQ(c.job(second).state, JobState::kQueued) << "the other node is free, and would refuse it";
  const JobId third = c.Submit(In("/home/kim"), "kim");
  EXPECT_EQ(c.attempt(third).nodes, (std::vector{NodeId(1)}));
  c.Finish(first);
  EXPECT_EQ(c.attempt(second).nodes, (std::vector{NodeId(2)}));
}

TEST(Placement, FollowsWhatANodeSaysNow) {
  Cluster c(Zones{.nodes = 0});
  AddGivers(c, {{"/home"}});
  EXPECT_FALSE(CheckFeasible(c.state(), c.policy(), In("/data/me"), "ann").ok());
  c.Connect("n1", Labels("z1", "l1"), "", {"/home", "/data"});
  EXPECT_TRUE(CheckFeasible(c.state(), c.policy(), In("/data/me"), "ann").ok());
  EXPECT_EQ(c.attempt(c.Submit(In("/data/me"))).nodes, (std::vector{NodeId(1)}));
}

}  // namespace
}  // namespace glim::core
