// How nodes are shown: in a table, and one by itself.
#include <gtest/gtest.h>

#include "cli/text/time_text.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

constexpr TimePoint kNodesAt{1'763'640'547'125};

TEST(NodesView, Golden) {
  glim::v1::Node node;
  node.set_name("gpu-001");
  node.set_state("ready");
  node.mutable_labels()->set_pool("a100");
  node.mutable_labels()->set_zone("A");
  node.mutable_labels()->set_leaf("l1");
  node.mutable_labels()->set_gpu_type("A100");
  node.mutable_labels()->set_gpu_count(8);
  node.mutable_labels()->set_nvlink("pair");
  node.mutable_labels()->set_nic("infiniband");
  node.mutable_labels()->set_simulated_gpus(true);
  node.set_runtime("runc");
  node.mutable_holder()->set_job_id(7);
  node.mutable_holder()->set_number(2);
  node.set_last_heard_ms((kNodesAt - Seconds(2)).ms);
  glim::v1::Node lost = node;
  lost.set_name("gpu-002");
  lost.set_state("lost");
  lost.clear_holder();
  lost.mutable_labels()->set_simulated_gpus(false);
  lost.set_message("unheard for 60 s");
  lost.add_orphans()->set_job_id(3);
  EXPECT_EQ(
      NodesTable({node, lost}, kNodesAt, false),
      "NODE     STATE  POOL  ZONE  LEAF           GPUS  TYPE  NVLINK  NIC         RUNTIME  HOLDER  CLAIM  HEARD    "
      "NOTE\n"
      "gpu-001  ready  a100  A     l1    8 (simulated)  A100  pair    infiniband  runc     7.2     -      2 s ago\n"
      "gpu-002  lost   a100  A     l1                8  A100  pair    infiniband  runc     -       -      2 s ago"
      "  unheard for 60 s; 1 task(s) that Glim does not know, left alone\n");
}

TEST(NodesView, OneNodeShowsTheFoldersThatItGives) {
  glim::v1::Node node;
  node.set_name("n1");
  node.set_state("ready");
  node.mutable_labels()->set_pool("default");
  node.mutable_labels()->set_zone("A");
  node.mutable_labels()->set_leaf("a1");
  node.mutable_labels()->set_gpu_count(8);
  node.mutable_labels()->set_nvlink("none");
  node.mutable_labels()->set_nic("ethernet");
  node.set_runtime("runc");
  node.set_last_heard_ms(kNodesAt.ms - 2000);
  const std::string before =
      "node n1\nstate       ready\npool        default\nzone        A, leaf a1\ngpus        8\n"
      "links       nvlink none, nic ethernet\nruntime     runc\nholder      -\nclaim       -\nheard       2 s ago\n";
  EXPECT_EQ(NodeText(node, kNodesAt, false), before + "allowed     any folder\n");
  node.add_allowed_folders("/home");
  node.add_allowed_folders("/data");
  EXPECT_EQ(NodeText(node, kNodesAt, false), before + "allowed     /home\n            /data\n");
}

TEST(NodesView, WhoseJobsRunThereIsShown) {
  glim::v1::Node node;
  node.set_name("n1");
  node.set_needs_uid(true);
  EXPECT_NE(NodeText(node, kNodesAt, false).find("users       runs no job of a user without a uid\n"),
            std::string::npos);
  EXPECT_EQ(NodesTable({node}, kNodesAt, false).find("uid"), std::string::npos) << "of most nodes, and no news";
  node.set_only_uid(1000);
  EXPECT_NE(NodeText(node, kNodesAt, false).find("users       runs jobs of uid 1000 alone\n"), std::string::npos);
  EXPECT_NE(NodesTable({node}, kNodesAt, false).find("runs jobs of uid 1000 alone\n"), std::string::npos);
}

TEST(NodesView, ANodeThatWaitsToBeMeasuredIsNotReady) {
  glim::v1::Node node;
  node.set_name("n1");
  node.set_state("ready");
  node.mutable_validation()->set_need("join");
  node.mutable_validation()->set_job_id(17);
  EXPECT_NE(NodesTable({node}, kNodesAt, false).find("unmeasured"), std::string::npos);
  EXPECT_NE(NodesTable({node}, kNodesAt, false).find("joins: waits to be measured, by job 17\n"), std::string::npos);
  EXPECT_NE(NodeText(node, kNodesAt, false).find("validation  joins: waits to be measured, by job 17\n"),
            std::string::npos);
  node.mutable_cordon()->set_by("health");
  EXPECT_NE(NodesTable({node}, kNodesAt, false).find("cordoned"), std::string::npos) << "that comes first";
}

TEST(NodesView, WhenANodeWasFoundGoodIsShownOfOneAlone) {
  glim::v1::Node node;
  node.set_name("n1");
  node.set_state("ready");
  node.mutable_validation()->set_good_at_ms((kNodesAt - Hours(72)).ms);
  EXPECT_NE(NodeText(node, kNodesAt, false).find("validation  good 3 d ago\n"), std::string::npos);
  node.mutable_validation()->set_need("overdue");
  node.mutable_validation()->set_since_ms((kNodesAt - Hours(2)).ms);
  EXPECT_NE(NodeText(node, kNodesAt, false).find("validation  good 3 d ago; overdue since 2 h ago\n"),
            std::string::npos);
  EXPECT_EQ(NodesTable({node}, kNodesAt, false).find("overdue"), std::string::npos) << "it takes jobs as before";
  node.mutable_validation()->set_need("suspicion");
  node.mutable_validation()->set_again_at_ms((kNodesAt + Minutes(5)).ms);
  EXPECT_NE(NodesTable({node}, kNodesAt, false)
                .find("a job stood still: waits to be measured, at " + FormatRfc3339(kNodesAt + Minutes(5))),
            std::string::npos);
  node.mutable_validation()->set_bad("cpu piece cpu3");
  EXPECT_NE(NodeText(node, kNodesAt, false).find("validation  bad: cpu piece cpu3; good 3 d ago"), std::string::npos);
}

TEST(NodesView, SocketsThatTasksReachAreShownEscaped) {
  glim::v1::Node node;
  node.set_name("n1");
  node.add_exposed_sockets("@/run/x");
  node.add_exposed_sockets("y\x1b[2J");
  EXPECT_NE(NodeText(node, kNodesAt, false)
                .find("sockets     exposes @/run/x (root) to tasks\n            exposes @y\\x1b[2J (root) to tasks\n"),
            std::string::npos);
}

// What its agent says of a node that a job has: it holds later, and is shown before.
TEST(NodesView, LabelsThatWaitForTheReleaseAreShown) {
  glim::v1::Node node;
  node.set_name("n1");
  node.mutable_labels()->set_pool("default");
  node.mutable_labels()->set_gpu_count(8);
  node.mutable_labels()->set_gpu_type("A100");
  *node.mutable_next_labels() = node.labels();
  node.mutable_next_labels()->set_pool("h100");
  node.mutable_next_labels()->clear_gpu_type();
  EXPECT_NE(NodesTable({node}, kNodesAt, false).find("at its release: pool h100, type none\n"), std::string::npos);
  EXPECT_NE(NodeText(node, kNodesAt, false).find("note        at its release: pool h100, type none\n"),
            std::string::npos);
  node.set_message("its runtime is gone");
  EXPECT_NE(NodesTable({node}, kNodesAt, false).find("its runtime is gone; at its release: pool"), std::string::npos);
}

}  // namespace
}  // namespace glim::cli
