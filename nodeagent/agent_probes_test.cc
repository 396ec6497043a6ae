// What an agent finds when it is asked to reach other machines (docs/protocols/probes.md): real sockets, a real agent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nodeagent/testing/agent_fixture.h"

namespace glim::nodeagent {
namespace {

constexpr std::int64_t kReportAfterMs = 800;

// A port of this machine's loopback.
class Port {
 public:
  explicit Port(int backlog) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd_, Address(), sizeof at_), 0);
    socklen_t size = sizeof at_;
    EXPECT_EQ(::getsockname(fd_, Address(), &size), 0);
    if (backlog >= 0) {
      EXPECT_EQ(::listen(fd_, backlog), 0);
    }
  }
  ~Port() {
    for (const int fd : waiting_) ::close(fd);
    ::close(fd_);
  }
  // The kernel answers nobody else: as many wait here as may.
  void Fill() {
    for (int i = 0; i < 4; ++i) {
      waiting_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      static_cast<void>(::connect(waiting_.back(), Address(), sizeof at_));
    }
  }
  // It answers again.
  void Empty() {
    for (const int fd : waiting_) ::close(fd);
    waiting_.clear();
    for (int i = 0; i < 8; ++i) {
      const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) ::close(fd);
    }
  }
  int fd() const { return fd_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(ntohs(at_.sin_port)); }

 private:
  sockaddr* Address() { return reinterpret_cast<sockaddr*>(&at_); }

  const int fd_;
  sockaddr_in at_{};
  std::vector<int> waiting_;
};

void Ask(v1::DesiredState* set, const std::string& node, const std::string& address) {
  v1::Probe& probe = *set->add_probes();
  probe.set_node(node);
  probe.set_address(address);
  probe.set_report_after_ms(kReportAfterMs);
}

std::map<std::string, std::int64_t> Told(const v1::NodeReport& report) {
  std::map<std::string, std::int64_t> told;
  for (const v1::ProbeResult& probe : report.probes()) told[probe.node()] = probe.unanswered_ms();
  return told;
}

class AgentProbesTest : public AgentTest {};
INSTANTIATE_TEST_SUITE_P(Plain, AgentProbesTest, testing::Values("process"));

TEST_P(AgentProbesTest, AMachineThatTakesTheConnectionOrRefusesItAnswersAndOneThatSaysNothingDoesNot) {
  const Port listens(16), nobody(-1);
  Port silent(0);
  silent.Fill();
  StartAgent();
  Ask(&set_, "listens", listens.address());
  Ask(&set_, "nobody", nobody.address());
  Ask(&set_, "silent", silent.address());
  Send();
  const auto report = scheduler_.WaitReport([](const v1::NodeReport& seen) {
    auto told = Told(seen);
    return told.size() == 3 && told["silent"] >= kReportAfterMs;
  });
  ASSERT_TRUE(report);
  auto told = Told(*report);
  EXPECT_EQ(told["listens"], 0);
  EXPECT_EQ(told["nobody"], 0) << "its kernel has answered";
}

TEST_P(AgentProbesTest, AreOverWhenTheyAreAskedForNoMore) {
  const Port listens(16);
  StartAgent();
  Ask(&set_, "listens", listens.address());
  Send();
  ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& seen) { return seen.probes_size() == 1; }));
  set_.clear_probes();
  Send();
  EXPECT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& seen) { return seen.probes_size() == 0; }));
}

TEST_P(AgentProbesTest, TellAtOnceThatAMachineAnswersAgain) {
  Port port(0);
  port.Fill();
  scheduler_.set_report_every_ms(60'000);  // what comes is told for its own sake
  StartAgent();
  Ask(&set_, "comes back", port.address());
  Send();
  ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& seen) { return Told(seen)["comes back"] > 0; }));
  port.Empty();
  EXPECT_TRUE(scheduler_.WaitReport(
      [](const v1::NodeReport& seen) { return seen.probes_size() == 1 && seen.probes(0).unanswered_ms() == 0; }));
}

}  // namespace
}  // namespace glim::nodeagent
