// Communicators of an attempt that has a secret: the ranks come up and sum rightly whoever else calls, and what is
// wrong with a secret is said by its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/environment/make_communicator.h"
#include "sdk/hfreduce/node/testing/forked.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/hfreduce/rendezvous/testing/secrets.h"

namespace glim::hfreduce {
namespace {

using ::testing::AllOf;
using testing::DigitsOf;
using testing::Forked;
using ::testing::HasSubstr;

// Free a moment ago, and none that the kernel gives to the strangers' own ends meanwhile.
std::uint16_t PortForRanks() {
  for (auto port = static_cast<std::uint16_t>(15'000 + ::getpid() % 10'000);; ++port) {
    if (TcpStore::Create({.port = port, .serve = true}).ok()) return port;
  }
}

class SecretOfRanks : public ::testing::Test {
 protected:
  SecretOfRanks() : folder_(::testing::TempDir() + "hfreduce-secret-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~SecretOfRanks() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& text, mode_t mode = 0400) {
    const std::string path = folder_ + "/" + std::to_string(++files_);
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  // Two nodes with two ranks each, all on this machine.
  Environment Of(std::uint32_t rank, const std::string& file, Duration timeout = LongWaitDuration()) const {
    Environment environment{.topology = EvenTopology({2}, 2),
                            .rank = rank,
                            .store_host = "127.0.0.1",
                            .store_port = port_,
                            .secret_file = file,
                            .attempt = "7.1"};
    environment.options.id = "secret-test-" + std::to_string(port_);
    environment.options.transport = "tcp";
    environment.options.listen.clear();
    environment.options.timeout = timeout;
    return environment;
  }

  const std::string folder_;
  const std::uint16_t port_ = PortForRanks();
  int files_ = 0;
};

std::string SumAmongStrangers(Communicator& all) {
  const auto own = static_cast<std::int32_t>(all.rank() + 1);
  std::int32_t sum = 0;
  const Status status = all.AllReduce(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(&sum, 1)),
                                      DType::kI32, ReduceOp::kSum)
                            .Wait();
  if (!status.ok()) return status.message();
  return sum == 10 ? "" : "the sum is " + std::to_string(sum);
}

TEST_F(SecretOfRanks, SumsAreRightWhoeverElseCalls) {
  const std::string file = File(DigitsOf('a'));
  std::atomic<bool> over = false;
  std::atomic<int> calls = 0;
  Forked ranks(4, [&](std::uint32_t rank) -> std::string {
    for (int round = 0; round < 5; ++round) {
      const auto made = MakeCommunicator(Of(rank, file));
      if (!made.ok()) return made.status().message();
      if (std::string wrong = SumAmongStrangers(**made); !wrong.empty()) return wrong;
    }
    return "";
  });
  // All the while strangers come to where the ranks meet, keep their connections, and say what they like.
  std::thread strangers([&] {
    const net::SocketAddress address = net::ResolveAddress("127.0.0.1", port_).value();
    std::vector<UniqueFd> crowd;
    while (!over) {
      Result<UniqueFd> stranger = net::StartConnect(address);
      if (!stranger.ok() || !net::AwaitReady(stranger->get(), POLLOUT, net::Deadline(LongWaitDuration()))) continue;
      if (net::ConnectError(stranger->get()) != 0) continue;  // nobody listens, between two communicators
      if (++calls % 2 == 0) (void)::send(stranger->get(), "GHS1 let me in", 14, MSG_NOSIGNAL);
      crowd.push_back(std::move(*stranger));
      if (crowd.size() > 500) crowd.erase(crowd.begin());
    }
  });
  EXPECT_EQ(ranks.WaitAll(), "");
  over = true;
  strangers.join();
  EXPECT_GT(calls, 10);
}

TEST_F(SecretOfRanks, ARankWithAnotherSecretDoesNotTakePart) {
  const std::string right = File(DigitsOf('a')), other = File(DigitsOf('b'));
  Forked ranks(4, [&](std::uint32_t rank) -> std::string {
    const auto made = MakeCommunicator(Of(rank, rank == 3 ? other : right, Slower(Seconds(2))));
    if (made.ok()) return "it was made";
    const std::string wanted = rank == 3 ? "another secret" : "";
    return made.status().message().find(wanted) == std::string::npos ? made.status().message() : "";
  });
  EXPECT_EQ(ranks.WaitAll(), "");
}

TEST_F(SecretOfRanks, AFileThatCannotBeReadIsNamedAndNoReasonToGoWithout) {
  const struct {
    std::string file;
    StatusCode code;
  } cases[] = {{folder_ + "/none", StatusCode::kNotFound},
               {File(DigitsOf('a'), 0444), StatusCode::kPermissionDenied},
               {File("something else"), StatusCode::kInvalidArgument}};
  for (const auto& one : cases) {
    const auto made = MakeCommunicator(Of(0, one.file));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), one.code);
    EXPECT_EQ(made.status().field(), "GLIM_ATTEMPT_SECRET_FILE");
    EXPECT_THAT(made.status().message(), AllOf(HasSubstr("GLIM_ATTEMPT_SECRET_FILE"), HasSubstr(one.file)));
    EXPECT_FALSE(made.status().fix().empty());
  }
}

}  // namespace
}  // namespace glim::hfreduce
