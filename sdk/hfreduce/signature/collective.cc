#include "sdk/hfreduce/signature/collective.h"

namespace glim::hfreduce {

std::string NameOf(Collective kind) {
  switch (kind) {
    case Collective::kAllReduce: return "AllReduce";
    case Collective::kReduce: return "Reduce";
    case Collective::kBroadcast: return "Broadcast";
    case Collective::kAllGather: return "AllGather";
    case Collective::kReduceScatter: return "ReduceScatter";
    case Collective::kBarrier: return "Barrier";
  }
  return "kind " + std::to_string(static_cast<int>(kind));
}

bool Reduces(Collective kind) {
  return kind == Collective::kAllReduce || kind == Collective::kReduce || kind == Collective::kReduceScatter;
}

bool HasRoot(Collective kind) { return kind == Collective::kReduce || kind == Collective::kBroadcast; }

}  // namespace glim::hfreduce
