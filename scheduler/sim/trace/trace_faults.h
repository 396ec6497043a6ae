// What breaks in a traced cluster, how often, and what becomes of the node: data, read from a small YAML file.
//
//   node_mtbf_days: 1000        mean time between two failures of one node, of any kind
//   checkpoint_every: 5m        of work; a failure throws a job back to the last of these
//   reboot: 10m                 that a node is away for a reboot
//   repair: 24h                 that a node is away for a repair
//   link_flap: 1m               that a node is away when its network link fails
//   link_flap_share: 0.30       of the hardware faults other than NVLink errors
//   shares:                     of the GPU events, in percent; they need not sum to 100
//     nvlink: 42.57             Xid 74: processes die, the GPU is reset, the node is usable at once
//     software: 53.48           Xid 43, 13, 31, 45: processes die, the node is usable at once
//     ecc: 2                    Xid 63, 64, 94, 95: a reboot
//     reset: 1.75               Xid 44, 48, 61, 62, 69, 79: a reboot
//     rma: 0.2                  Xid 119: a repair
//
// The numbers above are what a key that is not given means (how the last three divide is not published: ours).
// Values only; the generator is handed in.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/rng.h"
#include "sdk/base/time.h"

namespace glim::sim {

struct FaultPlan {
  double node_mtbf_days = 1000;
  Duration checkpoint_every = Minutes(5);
  Duration reboot = Minutes(10);
  Duration repair = Hours(24);
  Duration link_flap = Minutes(1);
  double link_flap_share = 0.30;
  double nvlink = 42.57;
  double software = 53.48;
  double ecc = 2;
  double reset = 1.75;
  double rma = 0.2;
};

// A refusal names the place and the key; `source` is the file's name in it.
Result<FaultPlan> ParseFaults(const std::string& text, const std::string& source);
Result<FaultPlan> ReadFaults(const std::string& path);

// Until the next failure of any of `nodes` nodes: exponential.
Duration UntilNextFault(const FaultPlan& plan, std::uint32_t nodes, Rng& rng);
// How long the node is away after a failure drawn from the mix; 0: only its processes die.
Duration AwayAfterFault(const FaultPlan& plan, Rng& rng);

}  // namespace glim::sim
