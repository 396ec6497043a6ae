// A task's environment as values, and how they become variables (variables-inl.h has the table).
//
// Three parts, each of whoever knows it: the scheduler tells of the job, the attempt and the gang; the node's agent of
// the node; and for each rank who it is. Plain values, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sdk/task_environment/variables.h"

namespace glim {

// Values by name.
using TaskVariables = std::map<std::string, std::string>;

// Of GLIM_HOSTS and GLIM_ZONES. What is longer is in their files alone: the kernel takes 128 KiB for one variable.
inline constexpr std::size_t kListBytesMax = 64 << 10;

// What all tasks of an attempt are told alike: made once for a gang of a thousand nodes. Lists are in their form
// already, with commas in between.
struct GangEnvironment {
  std::string hosts;  // by node rank
  std::string zones;
  std::string gateways;         // node ranks
  std::string replica_sources;  // addresses, each once
  std::string master_addr;
};

// What the scheduler tells one task.
struct TaskEnvironment {
  std::uint64_t job_id = 0;
  std::string job_name;
  std::uint32_t attempt = 0;
  std::uint32_t node_rank = 0;
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 0;
  bool per_gpu = false;  // launcher: per-gpu
  std::string zone;
  std::string leaf;
  std::int64_t resume_step = -1;
  std::optional<std::string> resume_path;  // empty: from the beginning; none: the agent knows the path
  std::int64_t checkpoint_every_ms = 0;    // 0: not said
  std::uint32_t checkpoint_keep = 0;
  std::string replica_peer;  // empty: none
  std::uint16_t master_port = 0;
};
void AddVariables(const TaskEnvironment& task, const GangEnvironment& gang, TaskVariables* variables);

// What the node's agent adds. A text that is empty, and a level below 0: not said.
struct NodeEnvironment {
  std::string socket;
  std::string hosts_file;
  std::string zones_file;
  std::string workdir;
  std::string checkpoint_dir;
  bool checkpoint_local = false;
  std::string resume_path;  // empty: as the scheduler said
  bool gpus_simulated = false;
  std::string sdk;
  std::string secrets;         // the folder; empty: the job has none
  std::string api_token_file;  // empty: the job has no `api`
  std::string api_ca_file;
  std::string attempt_secret_file;
  std::uint32_t local_ranks = 0;  // with launcher: per-gpu; else 0
  std::string hfreduce_device;
  int hfreduce_service_level = -1;
  std::string replica_token_file;
  std::string replica_tls;
  std::string replica_device;
  int replica_service_level = -1;
};
void AddVariables(const NodeEnvironment& node, TaskVariables* variables);

// Who a rank is. With launcher: node `rank` is the node rank.
struct RankEnvironment {
  std::uint32_t rank = 0;
  std::optional<std::uint32_t> local_rank;  // launcher: per-gpu
};
void AddVariables(const RankEnvironment& rank, TaskVariables* variables);

}  // namespace glim
