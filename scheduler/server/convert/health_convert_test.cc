// What agents tell of hardware: bounded, and never a reason to refuse a report; and what of it people see.
#include "scheduler/server/convert/health_convert.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "scheduler/server/convert/report_convert.h"
#include "scheduler/server/convert/row_convert.h"

namespace glim::server {
namespace {

v1::HealthEvent* AddEvent(v1::NodeReport* report, std::uint64_t seq, const std::string& check) {
  v1::HealthEvent* const event = report->add_health_events();
  event->set_seq(seq);
  event->set_check(check);
  return event;
}

core::NodeReported Told(const v1::NodeReport& report) {
  core::NodeReported event;
  NodeToEvent(report, {}, &event);
  return event;
}

TEST(HealthConvert, AnEventIsTakenInWhole) {
  v1::NodeReport report;
  report.set_health_boot("boot-1");
  v1::HealthEvent* const told = AddEvent(&report, 5, "xid");
  told->set_device("0000:3b:00.0");
  told->set_code(79);
  told->set_text("NVRM: Xid (PCI:0000:3b:00): 79");
  told->set_at_ms(1'000);
  told->set_value(3);
  told->set_expected(4);
  told->set_unit("Gb/s");
  const core::NodeReported event = Told(report);
  EXPECT_EQ(event.health_boot, "boot-1");
  ASSERT_EQ(event.health_events.size(), 1u);
  const core::HealthReading& reading = event.health_events[0];
  EXPECT_EQ(reading.seq, 5u);
  EXPECT_EQ(reading.check, "xid");
  EXPECT_EQ(reading.device, "0000:3b:00.0");
  EXPECT_EQ(reading.code, 79);
  EXPECT_EQ(reading.text, "NVRM: Xid (PCI:0000:3b:00): 79");
  EXPECT_EQ(reading.at, TimePoint{1'000});
  EXPECT_EQ(reading.value, 3);
  EXPECT_EQ(reading.expected, 4);
  EXPECT_EQ(reading.unit, "Gb/s");
}

TEST(HealthConvert, WhatIsOutOfBoundsIsLeftOutAndTheRestStays) {
  v1::NodeReport report;
  for (const char* const name : {"", "Xid", "x y", "x\n", "ok_1"}) AddEvent(&report, 1, name);
  AddEvent(&report, 1, std::string(41, 'x'));
  AddEvent(&report, 0, "unnumbered");
  for (const char* const name : {"", "PCIE", "pcie_slow"}) report.add_health_conditions()->set_check(name);
  const core::NodeReported event = Told(report);
  ASSERT_EQ(event.health_events.size(), 1u);
  EXPECT_EQ(event.health_events[0].check, "ok_1");
  ASSERT_EQ(event.health_conditions.size(), 1u);
  EXPECT_EQ(event.health_conditions[0].check, "pcie_slow");
}

TEST(HealthConvert, OfAFloodTheNewestStay) {
  v1::NodeReport report;
  for (std::uint64_t seq = 1; seq <= 1'000; ++seq) AddEvent(&report, seq, "xid");
  for (int i = 0; i < 1'000; ++i) {
    v1::HealthCondition* const condition = report.add_health_conditions();
    condition->set_check("link_down");
    condition->set_device("port" + std::to_string(i / 2));
  }
  const core::NodeReported event = Told(report);
  ASSERT_EQ(event.health_events.size(), 64u);
  EXPECT_EQ(event.health_events.front().seq, 937u);
  EXPECT_EQ(event.health_events.back().seq, 1'000u);
  ASSERT_EQ(event.health_conditions.size(), core::kHealthConditionsMax);
  EXPECT_EQ(event.health_conditions[1].device, "port1") << "one for each check of a device";
}

TEST(HealthConvert, TextsAreShortAndPrintableAndNumbersAreNumbers) {
  v1::NodeReport report;
  report.set_health_boot(std::string(10'000, 'b'));
  v1::HealthEvent* const told = AddEvent(&report, 1, "xid");
  told->set_device("\x1b[2J" + std::string(1'000, 'd'));
  told->set_text(std::string(5'000, '\x01'));
  told->set_unit(std::string(100, 'u'));
  told->set_at_ms(-5);
  told->set_value(std::numeric_limits<std::int64_t>::min());
  told->set_code(std::numeric_limits<std::int64_t>::max());
  const core::NodeReported event = Told(report);
  EXPECT_LE(event.health_boot.size(), 128u);
  const core::HealthReading& reading = event.health_events.at(0);
  EXPECT_LE(reading.device.size(), 64u);
  EXPECT_TRUE(reading.device.starts_with("\\x1b[2J")) << reading.device;
  EXPECT_LE(reading.text.size(), 300u);
  EXPECT_TRUE(reading.text.starts_with("\\x01"));
  EXPECT_LE(reading.unit.size(), 16u);
  EXPECT_EQ(reading.at, TimePoint{0});
  EXPECT_EQ(reading.value, -(std::int64_t{1} << 53));
  EXPECT_EQ(reading.code, std::int64_t{1} << 53);
}

TEST(HealthConvert, ATaskThatTheKernelKilledForItsMemoryIsKnown) {
  v1::NodeReport report;
  v1::ObservedTask* const task = report.add_tasks();
  task->mutable_attempt()->set_job_id(7);
  task->mutable_attempt()->set_number(1);
  task->set_phase(v1::ObservedTask::EXITED);
  task->set_out_of_memory(true);
  const auto tasks = ReportToTasks(report);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  EXPECT_TRUE(tasks->at(0).out_of_memory);
}

v1::Hello HelloWithHardware() {
  v1::Hello hello;
  v1::NodeInventory* const found = hello.mutable_inventory();
  v1::GpuDevice* const gpu = found->add_gpus();
  gpu->set_index(1);
  gpu->set_uuid("GPU-aa");
  gpu->set_type("NVIDIA A100");
  gpu->set_memory_bytes(80);
  gpu->set_pci("0000:3b:00.0");
  gpu->set_numa_node(-1);
  gpu->add_nvlink(0);
  v1::NicDevice* const nic = found->add_nics();
  nic->set_name("mlx5_0");
  nic->set_kind("infiniband");
  nic->set_state("up");
  nic->set_rate_mbps(200'000);
  nic->set_numa_node(2);
  nic->set_pci("0000:41:00.0");
  v1::DiskDevice* const disk = found->add_disks();
  disk->set_name("sda");
  disk->set_model("Old");
  disk->set_bytes(9);
  disk->set_rotational(true);
  found->set_cpu_model("EPYC");
  found->set_cpus(8);
  found->set_cores(4);
  found->set_sockets(2);
  found->set_numa_nodes(1);
  found->set_memory_bytes(7);
  found->set_kernel("6.1");
  found->set_gpu_driver("535");
  found->add_warnings("MIG is not served");
  return hello;
}

TEST(HealthConvert, AnInventoryGoesInAndComesOutTheSame) {
  const v1::Hello hello = HelloWithHardware();
  v1::NodeInventory shown;
  InventoryToProto(*InventoryOf(hello), &shown);
  EXPECT_EQ(shown.SerializeAsString(), hello.inventory().SerializeAsString());
  EXPECT_EQ(InventoryOf(v1::Hello()), nullptr);
}

TEST(HealthConvert, AnInventoryIsBounded) {
  v1::Hello hello;
  v1::NodeInventory* const found = hello.mutable_inventory();
  for (int i = 0; i < 1'000; ++i) {
    v1::GpuDevice* const gpu = found->add_gpus();
    gpu->set_type(std::string(1'000, 'x'));
    gpu->set_memory_bytes(-1);
    gpu->set_numa_node(-7);
    for (std::uint32_t j = 0; j < 200; ++j) gpu->add_nvlink(j);
    found->add_nics()->set_name("n\n");
    found->add_disks()->set_bytes(-1);
    found->add_warnings(std::string(1'000, 'w'));
  }
  const auto inventory = InventoryOf(hello);
  ASSERT_EQ(inventory->gpus.size(), 64u);
  EXPECT_EQ(inventory->gpus[0].type.size(), 128u);
  EXPECT_EQ(inventory->gpus[0].memory_bytes, 0);
  EXPECT_EQ(inventory->gpus[0].numa_node, -1);
  EXPECT_EQ(inventory->gpus[0].nvlink.size(), 64u);
  ASSERT_EQ(inventory->nics.size(), 64u);
  EXPECT_EQ(inventory->nics[0].name, "n\\n");
  EXPECT_EQ(inventory->disks.size(), 256u);
  ASSERT_EQ(inventory->warnings.size(), 32u);
  EXPECT_EQ(inventory->warnings[0].size(), 300u);
}

// A node with two events, a condition that keeps jobs away, and an inventory.
struct ShownNode {
  ShownNode() {
    row.id = core::NodeId(1);
    row.name = "n1";
    row.health_events.resize(2);
    row.health_events[0].check = "link_flash";
    row.health_events[1].check = "xid";
    row.health_events[1].code = 79;
    row.health_events[1].verdict = core::HealthVerdict::kOut;
    row.health_events[1].job = core::JobId(7);
    row.health_conditions.resize(2);
    row.health_conditions[0].check = "link_down";
    row.health_conditions[0].device = "mlx5_0/1";
    row.health_conditions[0].text = "state DOWN";
    row.health_conditions[0].since = TimePoint{5};
    row.health_conditions[0].verdict = core::HealthVerdict::kCordoned;
    row.health_conditions[1].check = "disk_slow";
    row.health_conditions[1].text = "not worth a word";
    row.hardware_differs = "its labels say 8 GPUs, its agent found 7 (A100)";
    LivenessMap heard;
    heard[row.id] = {1, TimePoint{9}, InventoryOf(HelloWithHardware())};
    snapshot.liveness = std::make_shared<const LivenessMap>(std::move(heard));
    snapshot.policy = std::make_shared<const core::Policy>();
  }
  v1::Node As(NodeShown shown) const {
    v1::Node node;
    NodeToProto(snapshot, row, shown, &node);
    return node;
  }
  core::Node row;
  Snapshot snapshot;
};

TEST(HealthConvert, PeopleSeeTheNewestEventFirstAndTheInventory) {
  const v1::Node node = ShownNode().As(NodeShown::kWhole);
  ASSERT_EQ(node.health_events_size(), 2);
  EXPECT_EQ(node.health_events(0).check(), "xid");
  EXPECT_EQ(node.health_events(0).code(), 79);
  EXPECT_EQ(node.health_events(0).verdict(), "out");
  EXPECT_EQ(node.health_events(0).job_id(), 7u);
  EXPECT_EQ(node.health_events(1).verdict(), "recorded");
  ASSERT_EQ(node.health_conditions_size(), 2);
  EXPECT_EQ(node.health_conditions(0).since_ms(), 5);
  EXPECT_EQ(node.health_conditions(0).verdict(), "cordoned");
  EXPECT_EQ(node.inventory().gpus(0).uuid(), "GPU-aa");
}

TEST(HealthConvert, TheNoteSaysWhatKeepsJobsAway) {
  ShownNode shown;
  EXPECT_EQ(shown.As(NodeShown::kRow).message(),
            "labels differ: its labels say 8 GPUs, its agent found 7 (A100); link down of mlx5_0/1: state DOWN");
  shown.row.fault = "disk_full: the disk is full";
  shown.row.hardware_differs.clear();
  EXPECT_EQ(shown.As(NodeShown::kRow).message(), "disk_full: the disk is full; link down of mlx5_0/1: state DOWN");
}

// A node that an operator has given back while a task of before is in the kernel (state D) takes no job, and says why.
TEST(HealthConvert, TheNoteSaysWhoseTasksAreToGo) {
  ShownNode shown;
  shown.row.hardware_differs.clear();
  shown.row.health_conditions.clear();
  EXPECT_EQ(shown.As(NodeShown::kRow).message(), "");
  shown.row.stale_tasks = {{{core::JobId(12), 1}, 0}, {{core::JobId(12), 2}, 0}, {{core::JobId(7), 1}, 1}};
  EXPECT_EQ(shown.As(NodeShown::kRow).message(), "has tasks that are to go: job 7's, job 12's");
}

TEST(HealthConvert, PeopleSeeTheNewestFailureFirstAndOfAListWhoIsUnreliable) {
  ShownNode shown;
  shown.row.failures = {{TimePoint{1}, "gpu_failure", "0000:3b:00.0", core::JobId(12)},
                        {TimePoint{2}, "network", "", core::JobId(31)}};
  shown.row.lemon = true;
  const v1::Node whole = shown.As(NodeShown::kWhole);
  ASSERT_EQ(whole.failures_size(), 2);
  EXPECT_EQ(whole.failures(0).cause(), "network");
  EXPECT_EQ(whole.failures(0).job_id(), 31u);
  EXPECT_EQ(whole.failures(1).at_ms(), 1);
  EXPECT_EQ(whole.failures(1).device(), "0000:3b:00.0");
  EXPECT_TRUE(whole.lemon());
  const v1::Node row = shown.As(NodeShown::kRow);
  EXPECT_EQ(row.failures_size(), 0);
  EXPECT_TRUE(row.lemon());
}

TEST(HealthConvert, ARowOfAListLeavesOutWhatIsLong) {
  const v1::Node node = ShownNode().As(NodeShown::kRow);
  EXPECT_FALSE(node.has_inventory());
  EXPECT_EQ(node.health_events_size(), 0);
  EXPECT_EQ(node.health_conditions_size(), 2);
  EXPECT_FALSE(node.hardware_differs().empty());
}

}  // namespace
}  // namespace glim::server
