// Root's programs that every task of the node could speak to: the agent sees them come and go, and says so.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>

#include "nodeagent/services/socket_watch.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/base/testing/folders.h"
#include "sdk/base/testing/waits.h"
#include "sdk/io/read_file.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

std::string Name() { return "glim-test-exposed-" + std::to_string(::getpid()); }

UniqueFd Listen(const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(fd.get(), 1), 0);
  return fd;
}

bool Names(const v1::NodeReport& report, const std::string& name) {
  return std::find(report.exposed_sockets().begin(), report.exposed_sockets().end(), name) !=
         report.exposed_sockets().end();
}

class AgentExposedSocketsTest : public AgentTest {};

TEST_P(AgentExposedSocketsTest, AreReportedAndWarnedOf) {
  const UniqueFd listener = Listen(Name());
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& report) { return Names(report, Name()); }));
  EXPECT_THAT(AgentLog(), testing::HasSubstr("event=exposed_sockets "));
  EXPECT_THAT(AgentLog(), testing::HasSubstr("@" + Name()));
}

TEST_P(AgentExposedSocketsTest, ComeAndGo) {
  boost::asio::io_context io;
  std::optional<SocketWatch> watch;
  const auto is_told = [&] {
    v1::NodeReport report;
    watch->Report(&report);
    return Names(report, Name());
  };
  const auto wait_for = [&](bool told) {
    const auto until = std::chrono::steady_clock::now() + LongWait();
    while (is_told() != told && std::chrono::steady_clock::now() < until)
      io.run_one_for(std::chrono::milliseconds(100));
    return is_told() == told;
  };
  watch.emplace(io, BuiltFile("bin/glim-paths"), std::chrono::milliseconds(20), [] {});
  watch->Start();
  {
    const UniqueFd listener = Listen(Name());
    EXPECT_TRUE(wait_for(true));
  }
  EXPECT_TRUE(wait_for(false));
  watch->Stop();
}

// The agent goes: the timer may have fired by then, and its turn come after Stop's.
TEST(SocketWatchTest, NothingIsStartedOnceItIsStopped) {
  const TempFolder folder;
  const std::string program = folder.path() + "/finds", looks = folder.path() + "/looks";
  const std::string script = "#!/bin/sh\necho >>" + looks + "\necho one >&4\n";
  ASSERT_TRUE(WriteFileAtomically(program, script, WriteOptions{Durability::kProcess, 0755, false}).ok());
  boost::asio::io_context io;
  std::optional<SocketWatch> watch;
  watch.emplace(io, program, std::chrono::milliseconds(0), [&] { boost::asio::post(io, [&] { watch->Stop(); }); });
  watch->Start();
  io.run_for(std::chrono::seconds(20));
  EXPECT_TRUE(io.stopped()) << "it goes on for ever";
  EXPECT_EQ(ReadFile(looks, 100).value(), "\n");
}

GLIM_IN_CONTAINERS(AgentExposedSocketsTest);

}  // namespace
}  // namespace glim::nodeagent
