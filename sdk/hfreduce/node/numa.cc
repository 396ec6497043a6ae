#include "sdk/hfreduce/node/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <climits>

namespace glim::hfreduce {
namespace {

constexpr int kNodesMax = 1024;  // of the kernel's own builds
constexpr int kWordBits = sizeof(unsigned long) * CHAR_BIT;
using NodeMask = std::array<unsigned long, kNodesMax / kWordBits>;

NodeMask AllowedNodes() {
  NodeMask mask{};
  if (::syscall(SYS_get_mempolicy, nullptr, mask.data(), kNodesMax, nullptr, MPOL_F_MEMS_ALLOWED) != 0) mask = {1};
  return mask;
}

int Count(const NodeMask& mask) {
  int count = 0;
  for (unsigned long word : mask) count += std::popcount(word);
  return count;
}

void SetPolicy(void* start, std::size_t bytes, int mode, const NodeMask& mask) {
  // The kernel takes one bit less than it is told.
  (void)::syscall(SYS_mbind, start, bytes, mode, mask.data(), kNodesMax + 1, 0);
}

}  // namespace

int NumaNodes() {
  const int count = Count(AllowedNodes());
  return count > 0 ? count : 1;
}

void InterleaveOverNumaNodes(void* start, std::size_t bytes) {
  const NodeMask mask = AllowedNodes();
  if (Count(mask) > 1) SetPolicy(start, bytes, MPOL_INTERLEAVE, mask);
}

void PreferNumaNode(void* start, std::size_t bytes, int node) {
  if (node < 0 || node >= kNodesMax || NumaNodes() == 1) return;
  NodeMask mask{};
  mask[node / kWordBits] = 1UL << (node % kWordBits);
  SetPolicy(start, bytes, MPOL_PREFERRED, mask);
}

}  // namespace glim::hfreduce
