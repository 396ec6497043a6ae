#include "tests/bench/hfreduce/bench_setup.h"

namespace glim::hfreduce::bench {

Topology Setup::topology() const {
  return zones == 1 ? EvenTopology({nodes}, local) : EvenTopology({nodes - nodes / 2, nodes / 2}, local);
}

Status Setup::Check() const {
  const auto wrong = [](const char* what) { return Status(StatusCode::kInvalidArgument, what); };
  if (zones > nodes) return wrong("--zones: more than nodes");
  if (bytes % SizeOf(type) != 0) return wrong("--bytes: no whole number of elements");
  if (transport == "shm" && nodes > 1) return wrong("--transport shm: several nodes need tcp or ucx");
  if (result == "shared" && (nodes > 1 || memory != "shared")) {
    return wrong("--result shared: on one node, with --memory shared");
  }
  if (zone_mbit > 0 && (!netns || zones != 2)) return wrong("--zone-mbit: with --netns --zones 2");
  return Status::Ok();
}

}  // namespace glim::hfreduce::bench
