// Edges of nodes that have a secret: who does not prove that it has it is no peer, whatever it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/rendezvous/proof.h"
#include "sdk/hfreduce/rendezvous/testing/secrets.h"
#include "sdk/hfreduce/transport/hello.h"
#include "sdk/hfreduce/transport/testing/nodes.h"

namespace glim::hfreduce {
namespace {

using testing::ConnectTo;
using testing::CrowdAt;
using ::testing::HasSubstr;
using testing::HearBytes;
using testing::SecretOf;

using Made = Result<std::unique_ptr<Transport>>;

class GuardedEdges : public ::testing::TestWithParam<Wire> {
 protected:
  Made Connect(NodeIndex self, const Secret& secret, Duration timeout = LongWaitDuration()) {
    TransportOptions options = OptionsOf(GetParam());
    options.secret = secret;
    const NodeIndex peer = 1 - self;
    return ConnectTransport(options, self, {&peer, 1}, store_, timeout);
  }
  net::SocketAddress AddressOfOne() {
    return *net::ParseAddress(store_.Get("edge/contract/1", LongWaitDuration()).value());
  }
  std::string HelloOfZero() const {
    const HelloBytes bytes =
        Encode({kWireVersion, OptionsOf(GetParam()).kind, false, Verdict::kAccepted, 0, 1, "contract"});
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // Node 1 comes up, strangers come to it, then node 0.
  void ExpectThatBothMeetAfter(const std::function<void(const net::SocketAddress&)>& strangers) {
    Made one = Status(StatusCode::kUnknown, "not made");
    std::thread waiting([&] { one = Connect(1, SecretOf('a')); });
    strangers(AddressOfOne());
    Made zero = Connect(0, SecretOf('a'));
    waiting.join();
    ASSERT_TRUE(zero.ok()) << zero.status().message();
    ASSERT_TRUE(one.ok()) << one.status().message();
    std::thread leaving([&] { std::move(one).value().reset(); });
    std::move(zero).value().reset();
    leaving.join();
  }

  MemoryStore store_;
};

TEST_P(GuardedEdges, AStrangerThatKnowsEverythingButTheSecretIsNoPeer) {
  ExpectThatBothMeetAfter([&](const net::SocketAddress& one) {
    const UniqueFd plain = ConnectTo(one, HelloOfZero());
    const std::string heard = HearBytes(plain.get(), 1000);
    ASSERT_EQ(heard.size(), kHelloBytes);
    const auto answer = DecodeHello(
        std::span<const std::byte, kHelloBytes>(reinterpret_cast<const std::byte*>(heard.data()), kHelloBytes));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->verdict, Verdict::kWithoutSecret);
    EXPECT_EQ(answer->id, "");

    const UniqueFd other = ConnectTo(one, Prover(SecretOf('b'), ProofParties{ProofFor::kEdge, 0, 1}).ask() +
                                              std::string(kProofBytes, 'x') + HelloOfZero());
    EXPECT_LE(HearBytes(other.get(), 1000).size(), kAnswerBytes);
    const UniqueFd noise = ConnectTo(one, std::string(kHelloBytes, 'G'));
    EXPECT_EQ(HearBytes(noise.get(), 1000), "");
  });
}

TEST_P(GuardedEdges, ARecordedHandshakeIsOfNoUse) {
  ExpectThatBothMeetAfter([&](const net::SocketAddress& one) {
    // Recorded of another connection of the same two nodes.
    Prover prover(SecretOf('a'), {ProofFor::kEdge, 0, 1});
    Examiner examiner(SecretOf('a'), ProofFor::kEdge, 1);
    std::string heard = prover.ask(), answer;
    examiner.Hear(heard, &answer);
    ASSERT_EQ(prover.Hear(answer), ProofStep::kProven);
    const UniqueFd stranger = ConnectTo(one, prover.ask() + prover.proof() + HelloOfZero());
    EXPECT_LE(HearBytes(stranger.get(), 1000).size(), kAnswerBytes) << "its hello is not answered";
  });
}

TEST_P(GuardedEdges, AThousandStrangersKeepNoPeerOut) {
  std::vector<UniqueFd> crowd;
  ExpectThatBothMeetAfter([&](const net::SocketAddress& one) { crowd = CrowdAt(one, 1000); });
}

// A proof is for the node that it names.
TEST_P(GuardedEdges, WhoProvesToBeOneNodeIsNotAnother) {
  Made one = Status(StatusCode::kUnknown, "not made");
  std::thread waiting([&] { one = Connect(1, SecretOf('a'), Slower(Seconds(1))); });
  Prover prover(SecretOf('a'), {ProofFor::kEdge, 5, 1});
  const UniqueFd five = ConnectTo(AddressOfOne(), prover.ask());
  std::string answer = HearBytes(five.get(), kAnswerBytes);
  ASSERT_EQ(prover.Hear(answer), ProofStep::kProven);
  const std::string said = prover.proof() + HelloOfZero();
  ASSERT_EQ(::send(five.get(), said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
  EXPECT_EQ(HearBytes(five.get(), 1000), "");
  waiting.join();
  EXPECT_EQ(one.status().code(), StatusCode::kDeadlineExceeded);
}

TEST_P(GuardedEdges, AnotherSecretIsNamed) {
  Made one = Status(StatusCode::kUnknown, "not made");
  std::thread waiting([&] { one = Connect(1, SecretOf('b'), Slower(Seconds(1))); });
  const Made zero = Connect(0, SecretOf('a'), Slower(Seconds(1)));
  waiting.join();
  EXPECT_EQ(zero.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(zero.status().message(), HasSubstr("node 1 (it has another secret than this process"));
  EXPECT_THAT(one.status().message(), HasSubstr("did not prove that they have the attempt's secret"));
}

TEST_P(GuardedEdges, ASecretOnOneSideAloneIsNamed) {
  {
    Made one = Status(StatusCode::kUnknown, "not made");
    std::thread waiting([&] { one = Connect(1, SecretOf('a'), Slower(Seconds(1))); });
    const Made zero = Connect(0, Secret(), Slower(Seconds(1)));
    waiting.join();
    EXPECT_EQ(zero.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(zero.status().message(), HasSubstr("it asks for the attempt's secret, and this process has none"));
    EXPECT_THAT(one.status().message(), HasSubstr("did not prove"));
  }
  store_.Clear();
  Made one = Status(StatusCode::kUnknown, "not made");
  std::thread waiting([&] { one = Connect(1, Secret(), Slower(Seconds(1))); });
  const Made zero = Connect(0, SecretOf('a'), Slower(Seconds(1)));
  waiting.join();
  EXPECT_THAT(zero.status().message(), HasSubstr("node 1 (it has no secret, and this process has one"));
  EXPECT_EQ(one.status().code(), StatusCode::kDeadlineExceeded);
}

INSTANTIATE_TEST_SUITE_P(Wires, GuardedEdges, ::testing::ValuesIn(Wires()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace glim::hfreduce
