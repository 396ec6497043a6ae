// A node whose link is cut in the middle of an AllReduce: no connection says so, only time does. Nodes are network
// namespaces here, which needs root.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/communicator/testing/ranks.h"
#include "sdk/hfreduce/testing/network.h"
#include "sdk/hfreduce/transport/ucx_transport.h"

namespace glim::hfreduce {
namespace {

using ::testing::AnyOf;
using testing::Forked;
using ::testing::HasSubstr;
using testing::TestCommunicator;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kLocal = 2;
constexpr std::uint32_t kCut = 2;              // the node
const Duration kTimeout = Slower(Seconds(5));  // every rank is heard of within it, until the cut

class Pipe {
 public:
  Pipe() { GLIM_CHECK(::pipe2(ends_, O_CLOEXEC) == 0, "no pipe"); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  template <typename T>
  bool Write(const T& value) const {
    return ::write(ends_[1], &value, sizeof(value)) == static_cast<ssize_t>(sizeof(value));
  }
  template <typename T>
  bool Read(T& value) const {
    return ::read(ends_[0], &value, sizeof(value)) == static_cast<ssize_t>(sizeof(value));
  }

 private:
  int ends_[2];
};

struct Go {
  pid_t first_of_node = 0;
  std::uint16_t port = 0;
};

bool JoinNetworkOf(pid_t process) {
  const int network = ::open(("/proc/" + std::to_string(process) + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC);
  const bool joined = network >= 0 && ::setns(network, CLONE_NEWNET) == 0;
  ::close(network);
  return joined;
}

std::uint64_t BytesThrough(const std::string& link) {
  std::ifstream devices("/proc/self/net/dev");
  for (std::string line; std::getline(devices, line);) {
    const std::size_t at = line.find(link + ":");
    if (at != std::string::npos) return std::stoull(line.substr(at + link.size() + 1));
  }
  return 0;
}

// Says what became of the operation, and how long its end took after the communicator's.
std::string ReduceUntilItFails(const Topology& topology, std::uint32_t rank, std::uint16_t port,
                               const std::string& transport) {
  CommunicatorOptions options = TestCommunicator(transport);
  options.id = "test-" + std::to_string(::getppid());
  options.listen = bench::AddressOf(topology.NodeOf(rank));
  options.timeout = LongWaitDuration();
  const auto store = TcpStore::Create({.host = bench::kHubAddress, .port = port});
  if (!store.ok()) return "store: " + store.status().message();
  options.timeout = kTimeout;
  auto all = Communicator::Create(topology, rank, **store, options);
  if (!all.ok()) return "create: " + all.status().message();
  std::vector<std::byte> buffer(std::size_t{40} << 20);
  for (;;) {
    const Status status = (*all)->AllReduce(buffer, buffer, DType::kF32, ReduceOp::kSum).Wait();
    if (status.ok()) continue;
    const Clock::time_point failed = Clock::now();
    std::move(all).value().reset();
    const std::chrono::duration<double> left = Clock::now() - failed;
    return left < Slower(std::chrono::duration<double>(5)) ? status.message()
                                                           : "took " + std::to_string(left.count()) + " s to leave";
  }
}

class DroppedLink : public ::testing::TestWithParam<const char*> {};

TEST_P(DroppedLink, FailsEveryRankWithinTheTimeoutAndNamesThePeer) {
  const std::string transport = GetParam();
  if (transport == "ucx" && !UcxIsBuilt()) GTEST_FAIL() << "this build has no UCX: install libucx-dev";
  if (::geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
  ASSERT_EQ(bench::MakeHub(1, 0).message(), "");
  const Topology topology = EvenTopology({kNodes}, kLocal);
  std::vector<Pipe> go(topology.ranks());
  Pipe unshared;
  Forked ranks(topology.ranks(), [&](std::uint32_t rank) -> std::string {
    const bool first = rank % kLocal == 0;
    if (first && (::unshare(CLONE_NEWNET) != 0 || !unshared.Write(rank))) return "no namespace";
    Go said;
    if (!go[rank].Read(said)) return "no go";
    if (!first && !JoinNetworkOf(said.first_of_node)) return "cannot join the node's namespace";
    return ReduceUntilItFails(topology, rank, said.port, transport);
  });
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    std::uint32_t rank = 0;
    ASSERT_TRUE(unshared.Read(rank));
    ASSERT_EQ(bench::ConnectNode(topology.NodeOf(rank), 0, ranks.pid(rank)).message(), "");
  }
  const auto store = TcpStore::Create({.host = bench::kHubAddress, .serve = true}).value();
  for (std::uint32_t rank = 0; rank < topology.ranks(); ++rank) {
    ASSERT_TRUE(go[rank].Write(Go{.first_of_node = ranks.pid(rank / kLocal * kLocal), .port = store->port()}));
  }
  // In the middle of one: some have gone through.
  const std::string link = "node" + std::to_string(kCut);
  ASSERT_TRUE(Eventually([&] { return BytesThrough(link) >= std::uint64_t{100} << 20; }));
  ASSERT_EQ(::system(("ip link set " + link + " down").c_str()), 0);
  const Clock::time_point cut = Clock::now();
  for (std::uint32_t rank = 0; rank < topology.ranks(); ++rank) {
    const std::string said = ranks.Wait(rank);
    if (topology.NodeOf(rank) == kCut) {
      EXPECT_THAT(said, AnyOf(HasSubstr("node 0"), HasSubstr("node 1"))) << "rank " << rank;
    } else {
      EXPECT_THAT(said, HasSubstr("node " + std::to_string(kCut))) << "rank " << rank;
    }
  }
  // What the ranks say to each other at the end comes on top, and their leaving.
  EXPECT_LT(Clock::now() - cut, std::chrono::milliseconds(kTimeout.ms) + Slower(std::chrono::seconds(8)));
  EXPECT_THAT(testing::SegmentFilesOf(""), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Of, DroppedLink, ::testing::Values("tcp", "ucx"), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace glim::hfreduce
