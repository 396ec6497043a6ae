// How a node's hardware and its health are shown.
#include "cli/views/hardware_view.h"

#include <gtest/gtest.h>

#include "cli/text/words.h"
#include "cli/views/node_change_view.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

constexpr TimePoint kHardwareAt{1'763'640'547'125};

glim::v1::Node FoundNode() {
  glim::v1::Node node;
  node.set_name("n1");
  auto* const found = node.mutable_inventory();
  found->set_cpu_model("AMD EPYC 7742");
  found->set_cpus(128);
  found->set_cores(64);
  found->set_sockets(1);
  found->set_numa_nodes(4);
  found->set_memory_bytes(std::int64_t{512} << 30);
  found->set_kernel("6.1.0-13-amd64");
  found->set_gpu_driver("535.104.05");
  for (std::uint32_t i = 0; i < 2; ++i) {
    auto* const gpu = found->add_gpus();
    gpu->set_index(i);
    gpu->set_type("NVIDIA A100");
    gpu->set_memory_bytes(std::int64_t{80} << 30);
    gpu->set_pci(i == 0 ? "0000:3b:00.0" : "0000:5e:00.0");
    gpu->set_numa_node(i == 0 ? 0 : -1);
    if (i == 1) gpu->add_nvlink(0);
    gpu->set_uuid(i == 0 ? "GPU-aa" : "");
  }
  auto* const nic = found->add_nics();
  nic->set_name("mlx5_0");
  nic->set_kind("infiniband");
  nic->set_state("up");
  nic->set_rate_mbps(200'000);
  nic->set_numa_node(1);
  nic->set_pci("0000:41:00.0");
  auto* const disk = found->add_disks();
  disk->set_name("nvme0n1");
  disk->set_bytes(std::int64_t{2} << 40);
  disk->set_model("Samsung");
  return node;
}

constexpr const char* kFound =
    "cpus        128 CPUs, 64 cores, 1 socket, 4 NUMA nodes: AMD EPYC 7742\n"
    "memory      512.0 GiB\n"
    "kernel      6.1.0-13-amd64\n"
    "driver      535.104.05\n";
constexpr const char* kTables =
    "  GPU  TYPE           MEMORY  PCI           NUMA  NVLINK TO  UUID\n"
    "    0  NVIDIA A100  80.0 GiB  0000:3b:00.0     0  -          GPU-aa\n"
    "    1  NVIDIA A100  80.0 GiB  0000:5e:00.0     -  0          -\n"
    "  CARD    KIND        STATE      RATE  NUMA  PCI\n"
    "  mlx5_0  infiniband  up     200 Gb/s     1  0000:41:00.0\n"
    "  DISK        SIZE  KIND   MODEL\n"
    "  nvme0n1  2.0 TiB  flash  Samsung\n";

TEST(HardwareView, ShowsWhatTheAgentFound) {
  const glim::v1::Node node = FoundNode();
  EXPECT_EQ(HardwareText(node, false), std::string(kFound) + kTables);
  EXPECT_EQ(HealthText(node, kHardwareAt, false), "health      nothing was found\n");
  EXPECT_NE(NodeText(node, kHardwareAt, false).find(std::string(kTables) + "health      nothing was found\n"),
            std::string::npos);
}

TEST(HardwareView, SimulatedGpusAreMarkedAndWhatCouldNotBeReadIsSaid) {
  glim::v1::Node node = FoundNode();
  node.mutable_labels()->set_simulated_gpus(true);
  node.mutable_inventory()->add_warnings("MIG of GPU 0 is not served\x1b[2J");
  EXPECT_EQ(HardwareText(node, false),
            std::string(kFound) +
                "not found   MIG of GPU 0 is not served\\x1b[2J\n"
                "simulated   jobs get simulated GPUs here, and none of those that are found\n" +
                kTables);
}

TEST(HardwareView, SaysNothingThatItWasNotTold) {
  EXPECT_EQ(HardwareText({}, false) + HealthText({}, kHardwareAt, false) + MendLabelsText({}), "");
}

TEST(HardwareView, HealthIsWhatIsSoAndThenWhatHappenedTheNewestFirst) {
  glim::v1::Node node;
  auto* const slow = node.add_health_conditions();
  slow->set_check("link_slow");
  slow->set_device("mlx5_0/1");
  slow->set_value(100);
  slow->set_expected(200);
  slow->set_unit("Gb/s");
  slow->set_since_ms((kHardwareAt - Minutes(5)).ms);
  slow->set_verdict("cordoned");
  auto* const xid = node.add_health_events();
  xid->set_check("xid");
  xid->set_code(79);
  xid->set_device("0000:3b:00.0");
  xid->set_text("GPU has fallen off the bus");
  xid->set_at_ms((kHardwareAt - Seconds(12)).ms);
  xid->set_verdict("out");
  xid->set_job_id(7);
  auto* const flash = node.add_health_events();
  flash->set_check("link_flash");
  flash->set_at_ms((kHardwareAt - Minutes(3)).ms);
  flash->set_verdict("recorded");
  EXPECT_EQ(HealthText(node, kHardwareAt, false),
            "health      1 wrong now; the newest 2 of what happened\n"
            "  IS SO      OF        SINCE      WHAT WAS DONE        EVIDENCE\n"
            "  link slow  mlx5_0/1  5 min ago  no job starts there  100 Gb/s of 200\n"
            "  HAPPENED    OF            WHEN       WHAT WAS DONE  JOB  EVIDENCE\n"
            "  Xid 79      0000:3b:00.0  12 s ago   taken out        7  GPU has fallen off the bus\n"
            "  link flash  -             3 min ago  recorded         -  -\n");
}

TEST(HardwareView, ErrorsOfNvswitchesHaveTheirNumber) {
  glim::v1::Node node;
  for (const char* check : {"sxid_fatal", "sxid"}) {
    auto* const event = node.add_health_events();
    event->set_check(check);
    event->set_code(24007);
    event->set_device("0000:c1:00.0");
    event->set_at_ms((kHardwareAt - Seconds(12)).ms);
    event->set_verdict("recorded");
  }
  EXPECT_EQ(HealthText(node, kHardwareAt, false),
            "health      nothing is wrong now; the newest 2 of what happened\n"
            "  HAPPENED          OF            WHEN      WHAT WAS DONE  JOB  EVIDENCE\n"
            "  fatal SXid 24007  0000:c1:00.0  12 s ago  recorded         -  -\n"
            "  SXid 24007        0000:c1:00.0  12 s ago  recorded         -  -\n");
}

TEST(HardwareView, AnUnreliableNodeSaysWhatFailedByIt) {
  glim::v1::Node node;
  EXPECT_EQ(FailuresText(node, kHardwareAt) + LemonText(node), "");
  auto* const link = node.add_failures();
  link->set_at_ms((kHardwareAt - Minutes(5)).ms);
  link->set_cause("network");
  link->set_job_id(31);
  auto* const gpu = node.add_failures();
  gpu->set_at_ms((kHardwareAt - Hours(24 * 3)).ms);
  gpu->set_cause("gpu_failure");
  gpu->set_device("0000:3b:00.0");
  gpu->set_job_id(12);
  EXPECT_EQ(FailuresText(node, kHardwareAt),
            "failures    5 min ago: network, job 31\n"
            "            3 d ago: gpu_failure of 0000:3b:00.0, job 12\n");
  node.set_lemon(true);
  EXPECT_NE(NodesTable({node}, kHardwareAt, false)
                .find("unreliable: jobs failed by it again and again, large ones go elsewhere while others fit"),
            std::string::npos);
  EXPECT_NE(NodeReturnText(node).find("  - jobs failed by it again and again\n  + its failures count anew\n"),
            std::string::npos);
}

TEST(HardwareView, LabelsThatDifferAreMendedOrAccepted) {
  glim::v1::Node node = FoundNode();
  node.set_state("ready");
  node.set_message("labels differ: its labels say 8 GPUs, its agent found 2 (NVIDIA A100)");
  node.set_hardware_differs("its labels say 8 GPUs, its agent found 2 (NVIDIA A100)");
  EXPECT_NE(NodeText(node, kHardwareAt, false)
                .find("note        labels differ: its labels say 8 GPUs, its agent found 2 (NVIDIA A100)\n"
                      "mend        put the hardware right, or let its labels say what is there: glim admin node label "
                      "n1 --gpus N; any label that is given accepts the difference\n"),
            std::string::npos);
  glim::v1::LabelNodeRequest request;
  request.mutable_labels()->set_gpu_count(2);
  request.add_fields("gpus");
  EXPECT_EQ(NodeLabelText(node, request),
            "node n1\n  - gpus 0\n  + gpus 2\n"
            "  - labels differ, no job starts there: its labels say 8 GPUs, its agent found 2 (NVIDIA A100)\n"
            "  + what its labels and its hardware then differ in is accepted: jobs start there again\n");
}

TEST(HardwareView, OutcomesOfHardwareAreWords) {
  glim::v1::Attempt attempt;
  const auto words = [&](const char* outcome) {
    attempt.set_outcome(outcome);
    return AttemptVerdict(attempt);
  };
  EXPECT_EQ(words("node_failure"), "node failure");
  EXPECT_EQ(words("gpu_failure"), "GPU failure");
  EXPECT_EQ(words("network"), "network failure");
  EXPECT_EQ(words("hang"), "stood still");
  EXPECT_EQ(words("out_of_memory"), "out of memory");
}

}  // namespace
}  // namespace glim::cli
