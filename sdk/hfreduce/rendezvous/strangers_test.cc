// Strangers at a store with a secret: they say nothing, noise, what they recorded, or come in a crowd; and the ranks
// meet all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/rendezvous/proof.h"
#include "sdk/hfreduce/rendezvous/store_message.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/hfreduce/rendezvous/testing/secrets.h"

namespace glim::hfreduce {
namespace {

using testing::ConnectTo;
using testing::CrowdAt;
using ::testing::HasSubstr;
using testing::HearBytes;
using testing::IsEndedByTheOther;
using testing::SecretOf;

class GuardedStore : public ::testing::Test {
 protected:
  GuardedStore()
      : server_(TcpStore::Create({.serve = true, .secret = SecretOf('a')}).value()),
        address_(net::ResolveAddress("127.0.0.1", server_->port()).value()) {}

  std::unique_ptr<TcpStore> Join(const Secret& secret, Duration timeout = LongWaitDuration()) const {
    return TcpStore::Create({.port = server_->port(), .timeout = timeout, .secret = secret}).value();
  }
  void ExpectThatRanksMeet() {
    const auto rank = Join(SecretOf('a'));
    const std::string key = "rank/" + std::to_string(++met_);
    EXPECT_TRUE(rank->Set(key, "here").ok());
    EXPECT_EQ(server_->Get(key, LongWaitDuration()).value(), "here");
  }

  std::unique_ptr<TcpStore> server_;
  net::SocketAddress address_;
  int met_ = 0;
};

TEST_F(GuardedStore, RanksWithTheSecretMeet) { ExpectThatRanksMeet(); }

TEST_F(GuardedStore, HoldsWhatIsLongerThanAStrangerMaySay) {
  const std::string longest(kStoreValueBytesMax, 'v');
  ASSERT_TRUE(Join(SecretOf('a'))->Set("k", longest).ok());
  EXPECT_EQ(server_->Get("k", LongWaitDuration()).value(), longest);
}

TEST_F(GuardedStore, AStrangersWordIsNotRead) {
  ASSERT_TRUE(server_->Set("key", "value").ok());
  const std::string set = Encode({static_cast<std::uint8_t>(StoreRequest::kSet), 0, "edge/1", "6.6.6.6:1"});
  const std::string get = Encode({static_cast<std::uint8_t>(StoreRequest::kGet), 1000, "key", ""});
  for (const std::string& word : {set, get, std::string("GET / HTTP/1.1\r\n\r\n"), std::string(5000, '\xff')}) {
    const UniqueFd stranger = ConnectTo(address_, word);
    EXPECT_EQ(HearBytes(stranger.get(), 5000).find("value"), std::string::npos);
  }
  EXPECT_EQ(server_->Get("edge/1", Milliseconds(50)).status().code(), StatusCode::kDeadlineExceeded);
  ExpectThatRanksMeet();
}

// Between a rank and the store: all that a handshake said, once more.
TEST_F(GuardedStore, ARecordedHandshakeIsOfNoUse) {
  Prover prover(SecretOf('a'), {});
  UniqueFd rank = ConnectTo(address_, prover.ask());
  std::string answer = HearBytes(rank.get(), kAnswerBytes);
  ASSERT_EQ(prover.Hear(answer), ProofStep::kProven);
  const std::string set = Encode({static_cast<std::uint8_t>(StoreRequest::kSet), 0, "recorded", "once"});
  const std::string recorded = prover.ask() + prover.proof() + set;
  ASSERT_EQ(::send(rank.get(), (prover.proof() + set).data(), kProofBytes + set.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(kProofBytes + set.size()));
  EXPECT_TRUE(IsEndedByTheOther(rank.get()));
  ASSERT_EQ(server_->Get("recorded", LongWaitDuration()).value(), "once");

  const UniqueFd at_once = ConnectTo(address_, recorded);
  EXPECT_EQ(HearBytes(at_once.get(), 5000), "");
  const UniqueFd in_turn = ConnectTo(address_, prover.ask());
  EXPECT_EQ(HearBytes(in_turn.get(), kAnswerBytes).size(), kAnswerBytes);
  const std::string rest = recorded.substr(kAskBytes);
  ASSERT_EQ(::send(in_turn.get(), rest.data(), rest.size(), MSG_NOSIGNAL), static_cast<ssize_t>(rest.size()));
  EXPECT_EQ(HearBytes(in_turn.get(), 5000), "") << "its request is not answered";
  // And the store's own words, shown to it.
  const UniqueFd mirror = ConnectTo(address_, prover.ask());
  const std::string shown = HearBytes(mirror.get(), kAnswerBytes);
  ASSERT_EQ(::send(mirror.get(), shown.data(), shown.size(), MSG_NOSIGNAL), static_cast<ssize_t>(kAnswerBytes));
  EXPECT_EQ(HearBytes(mirror.get(), 5000), "");
  ExpectThatRanksMeet();
}

TEST_F(GuardedStore, AThousandStrangersKeepNobodyOut) {
  const std::vector<UniqueFd> before = CrowdAt(address_, 1000);
  ExpectThatRanksMeet();
  const std::vector<UniqueFd> after = CrowdAt(address_, 200);
  ExpectThatRanksMeet();
}

TEST_F(GuardedStore, WhoHasAnotherSecretOrNoneIsToldSo) {
  const Status other = Join(SecretOf('b'), Slower(Seconds(1)))->Set("key", "other");
  EXPECT_EQ(other.code(), StatusCode::kUnavailable);
  EXPECT_THAT(other.message(), HasSubstr("another secret"));
  const Status none = Join(Secret())->Set("key", "none");
  EXPECT_EQ(none.code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(none.message(), HasSubstr("asks for the attempt's secret, and this process has none"));
  EXPECT_THAT(none.fix(), HasSubstr("GLIM_ATTEMPT_SECRET_FILE"));
  const Status missing = server_->Get("key", Milliseconds(50)).status();
  EXPECT_THAT(missing.message(), HasSubstr("1 callers had no secret"));
  EXPECT_THAT(missing.message(), HasSubstr("callers had another secret or left"));
}

TEST(PlainStore, SaysThatItHasNoSecret) {
  const auto server = TcpStore::Create({.serve = true}).value();
  const auto rank = TcpStore::Create({.port = server->port(), .timeout = Slower(Seconds(1)), .secret = SecretOf('a')});
  const Status status = rank.value()->Set("key", "value");
  EXPECT_THAT(status.message(), HasSubstr("it has no secret, and this process has one"));
  EXPECT_EQ(server->Get("key", Milliseconds(20)).status().code(), StatusCode::kDeadlineExceeded);
}

TEST(PlainStore, AThousandStrangersKeepNobodyOutEither) {
  const auto server = TcpStore::Create({.serve = true}).value();
  const std::vector<UniqueFd> crowd = CrowdAt(*net::ResolveAddress("127.0.0.1", server->port()), 1000);
  EXPECT_TRUE(server->Set("key", "value").ok());
}

// Somebody has the port before rank 0, answers as if it were the store, and leaves.
TEST(GuardedRank, WaitsForTheRealStoreWhoeverAnswersBefore) {
  UniqueFd squatter = net::Listen(*net::ResolveAddress("127.0.0.1", 0)).value();
  const net::SocketAddress address = net::LocalAddress(squatter.get()).value();
  Result<std::string> got = Status(StatusCode::kUnknown, "");
  std::thread rank([&] {
    got = TcpStore::Create({.port = address.port(), .secret = SecretOf('a')}).value()->Get("key", LongWaitDuration());
  });
  for (int call = 0; call < 2; ++call) {
    ASSERT_TRUE(net::AwaitReady(squatter.get(), POLLIN, net::Deadline(LongWaitDuration())));
    const UniqueFd called = net::Accept(squatter.get());
    Examiner stranger(SecretOf('b'), ProofFor::kStore, 0);
    std::string heard = HearBytes(called.get(), kAskBytes), answer;
    stranger.Hear(heard, &answer);
    ASSERT_EQ(::send(called.get(), answer.data(), answer.size(), MSG_NOSIGNAL), static_cast<ssize_t>(kAnswerBytes));
    EXPECT_EQ(HearBytes(called.get(), 5000), "") << "it is shown neither proof nor request";
  }
  squatter = UniqueFd();
  const auto server = TcpStore::Create({.port = address.port(), .serve = true, .secret = SecretOf('a')}).value();
  ASSERT_TRUE(server->Set("key", "the real one's").ok());
  rank.join();
  EXPECT_EQ(got.value(), "the real one's");
}

}  // namespace
}  // namespace glim::hfreduce
