// What is known of a node's hardware: what it is made of, and what its health checks found (docs/operations/health.md).
// Plain values; lifecycle/health.h says what is done about them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/core/model/ids.h"
#include "sdk/base/time.h"

namespace glim::core {

struct GpuDevice {
  std::uint32_t index = 0;
  std::string uuid;
  std::string type;  // as the driver names it
  std::int64_t memory_bytes = 0;
  std::string pci;  // domain:bus:device.function
  std::int32_t numa_node = -1;
  std::vector<std::uint32_t> nvlink;  // indices of the GPUs that a link leads to
  friend bool operator==(const GpuDevice&, const GpuDevice&) = default;
};

struct NicDevice {
  std::string name;
  std::string kind;  // infiniband, roce, ethernet
  std::string state;
  std::int64_t rate_mbps = 0;  // 0: unknown
  std::int32_t numa_node = -1;
  std::string pci;
  friend bool operator==(const NicDevice&, const NicDevice&) = default;
};

struct DiskDevice {
  std::string name;
  std::string model;
  std::int64_t bytes = 0;
  bool rotational = false;
  friend bool operator==(const DiskDevice&, const DiskDevice&) = default;
};

// As its agent found it. Soft state: told at each hello, never stored.
struct NodeInventory {
  std::vector<GpuDevice> gpus;
  std::vector<NicDevice> nics;
  std::vector<DiskDevice> disks;
  std::string cpu_model;
  std::uint32_t cpus = 0;  // hardware threads
  std::uint32_t cores = 0;
  std::uint32_t sockets = 0;
  std::uint32_t numa_nodes = 0;
  std::int64_t memory_bytes = 0;
  std::string kernel;
  std::string gpu_driver;             // empty: none is loaded
  std::vector<std::string> warnings;  // what could not be read or is not served, and why
  friend bool operator==(const NodeInventory&, const NodeInventory&) = default;
};

// What was done about what a check found.
enum class HealthVerdict : std::uint8_t {
  kRecorded,   // nothing: it is kept for reports, and counted
  kJobsFault,  // nothing: the program did it
  kRestarted,  // who ran there goes on elsewhere; the node is suspect
  kDrained,    // who runs there saves and leaves; then nobody comes
  kCordoned,   // nobody comes; who runs there runs on
  kOut         // nobody comes, and who ran there goes on elsewhere at once
};
const char* ToString(HealthVerdict verdict);

// Of one agent's message: something that happened once. Numbers grow within a boot of the machine.
struct HealthReading {
  std::uint64_t seq = 0;
  std::string check;   // xid, link_flash, ecc_corrected, ...
  std::string device;  // a GPU's PCIe address, a port, a disk, a memory module; empty: the node
  std::int64_t code = 0;
  TimePoint at;  // by the node's clock
  std::string text;
  std::int64_t value = 0;
  std::int64_t expected = 0;
  std::string unit;  // empty: nothing was measured
};

// Of a node: the newest, but many of one kind push out their own oldest, and no other.
inline constexpr std::size_t kHealthEventsKept = 16;
inline constexpr std::size_t kHealthConditionsMax = 32;

// As the node's row keeps it.
struct HealthEvent {
  std::string check;
  std::string device;
  std::int64_t code = 0;
  TimePoint at;  // when the scheduler took it in
  std::string text;
  std::int64_t value = 0;
  std::int64_t expected = 0;
  std::string unit;
  HealthVerdict verdict = HealthVerdict::kRecorded;
  JobId job;               // who held the node; none: nobody
  std::string user;        // of that job
  std::uint32_t more = 0;  // of the same, within a minute of it
  friend bool operator==(const HealthEvent&, const HealthEvent&) = default;
};

// Something that is so as long as the agent tells it.
struct HealthCondition {
  std::string check;  // pcie_slow, throttled, disk_read_only, ...
  std::string device;
  std::string text;
  std::int64_t value = 0;
  std::int64_t expected = 0;
  std::string unit;
  TimePoint since;
  HealthVerdict verdict = HealthVerdict::kRecorded;
  friend bool operator==(const HealthCondition&, const HealthCondition&) = default;
};

// Why a node is to be measured; the later ones are more urgent.
enum class ValidationNeed : std::uint8_t { kNone, kOverdue, kSuspicion, kAsked, kRepair, kJoin };
const char* ToString(ValidationNeed need);

// A node that is measured by a job of the cluster's own (lifecycle/validation.h).
struct NodeValidation {
  ValidationNeed need = ValidationNeed::kNone;
  TimePoint since;       // of the need
  JobId job;             // that measures it; none: none does
  TimePoint good_at;     // when it was last found good; 0: never
  std::string bad{};     // what was found wrong last; empty: nothing
  TimePoint again_at{};  // the last try could not measure it: there is none before then; 0: at once
  JobId last{};          // that measured it, or tried to, and has ended; none: none has
  // What an operator asked for beyond the policy; both empty when the need is over.
  bool full = false;                   // glim-validate --full
  std::vector<std::string> folders{};  // whose disks are measured, too
  friend bool operator==(const NodeValidation&, const NodeValidation&) = default;
};

// An attempt that ended by the node's fault.
struct NodeFailure {
  TimePoint at;
  std::string cause;   // the attempt's outcome: gpu_failure, network, hang, node_failure
  std::string device;  // that was found at fault; empty: none was
  JobId job;
  std::string user{};  // of that job
  friend bool operator==(const NodeFailure&, const NodeFailure&) = default;
};
inline constexpr std::size_t kNodeFailuresKept = 16;

}  // namespace glim::core
