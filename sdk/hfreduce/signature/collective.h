// The collectives, by name.
#pragma once

#include <cstdint>
#include <string>

namespace glim::hfreduce {

// Values are part of the wire format and of the shared segment's layout.
enum class Collective : std::uint8_t {
  kAllReduce = 0,
  kReduce = 1,
  kBroadcast = 2,
  kAllGather = 3,
  kReduceScatter = 4,
  kBarrier = 5,
};

// "AllReduce"; "kind 7" for a value from a peer that is none of ours.
std::string NameOf(Collective kind);
// Whether it calculates with elements; the others move bytes.
bool Reduces(Collective kind);
bool HasRoot(Collective kind);

}  // namespace glim::hfreduce
