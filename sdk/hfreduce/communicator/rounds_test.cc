// Communicators come and go: nothing of them stays behind in the process or on the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/communicator/communicator.h"
#include "sdk/hfreduce/communicator/testing/ranks.h"
#include "sdk/hfreduce/node/testing/forked.h"
#include "sdk/hfreduce/transport/ucx_transport.h"

namespace glim::hfreduce {
namespace {

using testing::Forked;
using ::testing::IsEmpty;
using testing::TestCommunicator;

struct Held {
  int descriptors = 0;
  int threads = 0;
  int mappings = 0;
  std::int64_t resident_bytes = 0;
};

Held HeldNow() {
  Held held;
  held.descriptors = testing::OpenDescriptors();
  held.threads = static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
  std::ifstream maps("/proc/self/maps");
  held.mappings = static_cast<int>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  held.resident_bytes = pages * ::sysconf(_SC_PAGESIZE);
  return held;
}

// A thousand in the nightly run (GLIM_HFREDUCE_ROUNDS): a round takes about 0.1 s.
int Rounds(const char* transport) {
  const char* const given = std::getenv("GLIM_HFREDUCE_ROUNDS");
  if (given != nullptr) return std::atoi(given);
  return std::string(transport) == "ucx" ? 24 : 80;
}

std::string Round(const Topology& topology, std::uint32_t rank, Store& store, const CommunicatorOptions& options) {
  const auto all = Communicator::Create(topology, rank, store, options);
  if (!all.ok()) return "create: " + all.status().message();
  std::vector<float> values(30'000, 1);
  const auto bytes = std::as_writable_bytes(std::span(values));
  if (Status status = (*all)->AllReduce(bytes, bytes, DType::kF32, ReduceOp::kSum).Wait(); !status.ok()) {
    return status.message();
  }
  return values[0] == 4 && values[29'999] == 4 ? "" : "a wrong sum";
}

class CreateAndDestroy : public ::testing::TestWithParam<const char*> {};

TEST_P(CreateAndDestroy, LeaveNoDescriptorThreadMappingSegmentOrMemoryBehind) {
  const std::string transport = GetParam();
  if (transport == "ucx" && !UcxIsBuilt()) GTEST_FAIL() << "this build has no UCX: install libucx-dev";
  const int rounds = Rounds(GetParam());
  const Topology topology = EvenTopology({2}, 2);
  CommunicatorOptions options = TestCommunicator(transport);
  const std::string name = options.id;  // of all this process' tests
  int port[2];
  ASSERT_EQ(::pipe(port), 0);
  Forked ranks(topology.ranks(), [&](std::uint32_t rank) -> std::string {
    ::alarm(static_cast<unsigned>(Slower(std::chrono::seconds(60 + rounds / 5)).count()));
    TcpStoreOptions where;
    if (::read(port[0], &where.port, sizeof(where.port)) != sizeof(where.port)) return "no store";
    const auto store = TcpStore::Create(where).value();
    // What libraries keep after the first use is not counted; nor is what the heap has grown to by then.
    const int warm = rounds / 4;
    Held before;
    for (int round = 0; round < rounds; ++round) {
      if (round == warm) before = HeldNow();
      options.id = name + "-" + std::to_string(round);
      const std::string wrong = Round(topology, rank, *store, options);
      if (!wrong.empty()) return "round " + std::to_string(round) + ": " + wrong;
    }
    const Held after = HeldNow();
    if (std::getenv("GLIM_HFREDUCE_ROUNDS") != nullptr) {
      std::printf("%s, rank %u, %d rounds: %+d descriptors, %+d threads, %+d mappings, %+.0f KiB of %.0f\n",
                  transport.c_str(), rank, rounds, after.descriptors - before.descriptors,
                  after.threads - before.threads, after.mappings - before.mappings,
                  static_cast<double>(after.resident_bytes - before.resident_bytes) / 1024,
                  static_cast<double>(after.resident_bytes) / 1024);
      std::fflush(stdout);
    }
    if (after.descriptors != before.descriptors) {
      return "descriptors: " + std::to_string(after.descriptors - before.descriptors);
    }
    if (after.threads != before.threads) return "threads: " + std::to_string(after.threads - before.threads);
    // A leak of one a round would be three quarters of the rounds; the heap may take a few more.
    if (after.mappings - before.mappings > rounds / 8) {
      return "mappings: " + std::to_string(after.mappings - before.mappings);
    }
    const std::int64_t grown = after.resident_bytes - before.resident_bytes;
    if (grown > (std::int64_t{2} << 20) + rounds * 4096) return "memory: " + std::to_string(grown) + " bytes";
    return "";
  });
  const auto store = TcpStore::Create({.serve = true}).value();
  for (std::uint32_t rank = 0; rank < topology.ranks(); ++rank) {
    const std::uint16_t number = store->port();
    ASSERT_EQ(::write(port[1], &number, sizeof(number)), static_cast<ssize_t>(sizeof(number)));
  }
  EXPECT_EQ(ranks.WaitAll(), "");
  EXPECT_THAT(testing::SegmentFilesOf(""), IsEmpty());
  ::close(port[0]);
  ::close(port[1]);
}

INSTANTIATE_TEST_SUITE_P(Of, CreateAndDestroy, ::testing::Values("tcp", "ucx"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace glim::hfreduce
