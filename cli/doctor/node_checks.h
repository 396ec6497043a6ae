// What a machine needs to be a node. The judges are pure; node_looks.h gathers.
//
// Sources: node_checks.cc, node_amounts.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/doctor/finding.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/program.h"
#include "cli/doctor/shared_checks.h"
#include "sdk/base/time.h"

namespace glim::cli::doctor {

// Of the agent's settings. An agent of root has containers unless it says otherwise.
struct NodeWishes {
  bool containers = true;
  std::string runtime = "auto";
  std::string nic = "ethernet";
  std::string user_namespace = "auto";
};

struct EnrolmentFacts {
  bool without_identity = false;
  std::string path;  // STATE_DIR/identity
  FileFacts folder;
  bool may_read = false;  // the file could be opened
  std::string text;       // of the certificates alone: no key
};
Outcome JudgeEnrolment(const EnrolmentFacts& facts, TimePoint now);
// The certificates of node.pem, without the key before them.
std::string CertificatesOf(const std::string& identity);

Outcome JudgeScheduler(const std::string& address, const Status& connected);
Outcome JudgeKernel(const NodeWishes& wishes, const std::string& release);

struct CgroupFacts {
  bool unified = false;  // version 2 alone
  bool mixed = false;    // versions 1 and 2 side by side
  bool version_1 = false;
  std::vector<std::string> controllers;  // of the root, or of the parent group if it is there
  std::string parent;                    // the parent group's path if it is there
};
Outcome JudgeCgroups(const NodeWishes& wishes, const CgroupFacts& facts);

struct RuntimeFacts {
  std::string program;  // its path; empty: there is none
  ProgramEnd end;       // of PROGRAM --version
};
Outcome JudgeRuntime(const NodeWishes& wishes, const RuntimeFacts& facts);
// `namespaces_max`: /proc/sys/user/max_user_namespaces; empty: the kernel has none.
Outcome JudgeUserNamespaces(const NodeWishes& wishes, const std::string& namespaces_max);
// `actions`: /proc/sys/kernel/seccomp/actions_avail.
Outcome JudgeSeccomp(const NodeWishes& wishes, const std::string& actions);

struct ProgramsFacts {
  std::string folder;                // of the agent's program
  std::vector<std::string> missing;  // of Glim's programs beside it
  std::string sdk;                   // the SDK's folder
  bool sdk_there = false;
};
Outcome JudgePrograms(const ProgramsFacts& facts);
Outcome JudgeMemlock(const NodeWishes& wishes, const Limits& limits);

struct RdmaPortFacts {
  std::string name;   // mlx5_0:1
  std::string state;  // ACTIVE, DOWN, ...
  std::string link;   // InfiniBand, Ethernet
  std::string rate;   // "200 Gb/sec (4X HDR)"
};
struct InterfaceFacts {
  std::string name;
  bool up = false;
  int mbit = 0;  // 0: it does not tell
};
struct NetworkFacts {
  std::vector<RdmaPortFacts> rdma;
  std::vector<InterfaceFacts> interfaces;  // but for the loopback
};
Outcome JudgeNetwork(const NodeWishes& wishes, const NetworkFacts& facts);
Outcome JudgeShm(const RoomFacts& facts);

struct SharedRootFacts {
  std::vector<std::string> missing;  // folders that jobs may name, and that are not there
  std::string root;                  // the one with a marker; empty: none was found
  FileFacts jobs;                    // ROOT/jobs
  int of_nobody = 0;                 // folders of jobs that belong to the user nobody
};
Outcome JudgeSharedRoot(const SharedRootFacts& facts);

struct MemoryFacts {
  std::int64_t total = 0, available = 0;
  std::int64_t reserve = -1;  // -1: the agent's default
};
MemoryFacts ParseMemory(const std::string& meminfo);
Outcome JudgeMemory(const MemoryFacts& facts);

struct AccountFacts {
  std::string name;
  bool there = false;
  std::string of;  // what names it
};
Outcome JudgeAccounts(const std::vector<AccountFacts>& accounts);

}  // namespace glim::cli::doctor
