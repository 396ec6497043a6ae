#include "sdk/checkpoint/replica/service_address.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace glim::checkpoint {
namespace {

std::string DevicesFor(const std::string& address) { return checkpoint::DevicesFor(ListenAddress(address).value()); }

TEST(Peer, IsAKeyAndAPlace) {
  const std::string key(64, 'a');
  const auto peer = ParsePeer(key + "@[::1]:7");
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->address, "[::1]:7");
  EXPECT_EQ(PeerText(*peer), key + "@[::1]:7");
  for (const std::string& text :
       {std::string("127.0.0.1:7"), std::string("@127.0.0.1:7"), key, key.substr(1) + "@127.0.0.1:7"}) {
    EXPECT_EQ(ParsePeer(text).status().field(), "peer") << text;
  }
}

TEST(ListenAt, IsAnAddressThatOthersCanBeTold) {
  EXPECT_TRUE(ListenAt("127.0.0.1:0").ok());
  for (const char* any : {"0.0.0.0:0", "0.0.0.0:7604", "[::]:7604"}) {
    const Status refused = ListenAt(any).status();
    EXPECT_EQ(refused.field(), "listen") << any;
    EXPECT_EQ(refused.message(), "'" + std::string(any) + "' is no address that other nodes could be told");
    EXPECT_EQ(refused.fix(), "name the one that they reach this node by");
  }
}

TEST(Transports, OfAServiceAreAllButSharedMemory) {
  EXPECT_EQ(ServiceTransports("all").value(), "^sm");
  EXPECT_EQ(ServiceTransports("").value(), "^sm");
  EXPECT_EQ(ServiceTransports("^ib").value(), "^ib,sm");
  EXPECT_EQ(ServiceTransports("rc,self").value(), "rc,self");
  for (const char* tls : {"posix", "tcp,sysv", "shm"}) {
    EXPECT_EQ(ServiceTransports(tls).status().field(), "ucx_tls") << tls;
  }
}

TEST(DevicesFor, TheLoopbackInterfaceHasNothingBesideIt) {
  EXPECT_EQ(DevicesFor("127.0.0.1:7"), "lo");
  EXPECT_EQ(DevicesFor("127.0.0.1:0"), "lo");
}

TEST(DevicesFor, EveryAddressOfThisMachineIsNoInterface) { EXPECT_EQ(DevicesFor("0.0.0.0:0"), ""); }

// Whoever sets UCX's variable for the service means it.
TEST(DevicesFor, TheEnvironmentsOwnChoiceIsLeftAlone) {
  ASSERT_EQ(::setenv("UCX_NET_DEVICES", "mlx5_0:1", 1), 0);
  const std::string devices = DevicesFor("127.0.0.1:7");
  ::unsetenv("UCX_NET_DEVICES");
  EXPECT_EQ(devices, "");
}

// Three interfaces that are up, of which one leads there.
TEST(DevicesFor, TheInterfaceWithTheAddressAndTheOneTowardsAPeerAreTheSame) {
  if (::geteuid() != 0) GTEST_FAIL() << "network namespaces need root";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const char* const set_up =
        "for n in 1 2 3; do ip link add glimt$n type bridge && ip addr add 10.99.$n.1/24 dev glimt$n &&"
        " ip link set glimt$n up || exit 1; done; ip link set lo up";
    if (::unshare(CLONE_NEWNET) != 0 || std::system(set_up) != 0) ::_exit(2);
    const auto begins_with_second = [](const std::string& devices) {
      return devices == "glimt2" || devices.starts_with("glimt2,");
    };
    const bool own = begins_with_second(DevicesFor("10.99.2.1:0"));
    const bool peer = begins_with_second(DevicesFor("10.99.2.9:7"));
    const bool none = DevicesFor("10.98.0.1:7").empty();
    ::_exit(own && peer && none ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0) << "2: no namespace; 3: another interface";
}

}  // namespace
}  // namespace glim::checkpoint
