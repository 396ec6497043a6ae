// This machine's RDMA ports, as the kernel tells of them, and what the environment has said to UCX. Needs no UCX. Any
// thread; nothing is kept.
#pragma once

#include <string>
#include <vector>

namespace glim::net {

inline constexpr char kRdmaFolder[] = "/sys/class/infiniband";

struct RdmaPort {
  std::string name;       // as UCX names it: "mlx5_0:1"
  std::string state;      // the kernel's word: "ACTIVE", "DOWN", "INIT", "ARMED"; "UNKNOWN" where it says none
  std::string interface;  // of RoCE, the network interface below: "eth2"; empty: InfiniBand, or nobody knows

  bool active() const { return state == "ACTIVE"; }
  // What is sent there stays on this machine.
  bool loopback() const { return interface == "lo"; }
};

// In the order of their names. None where there is no such folder. `folder` is another one in tests.
std::vector<RdmaPort> RdmaPorts(const std::string& folder = kRdmaFolder);

// Active ports that lead out of this machine, as UCX_NET_DEVICES takes them: "mlx5_0:1,mlx5_1:1".
std::string UsablePorts(const std::vector<RdmaPort>& ports);

// Whether one of verbs is among these transports of UCX ("rc,self").
bool NamesVerbs(const std::string& tls);

// Whether over all of these a peer's one-sided writes are carried out by the card, which looks at the memory's key: rc
// and dc. Over every other transport of UCX software writes to whatever address the peer names.
bool OnlyHardwareWrites(const std::string& tls);

// What UCX reads from the environment of this process: empty where a variable is not there.
struct UcxVariables {
  std::string tls;          // UCX_TLS
  std::string net_devices;  // UCX_NET_DEVICES
};
UcxVariables UcxVariablesOfProcess();

}  // namespace glim::net
