// When a node's certificate is renewed, by a clock of the test's, against a scheduler that signs.
#include "nodeagent/identity/certificate_renewal.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>

#include "scheduler/identity/cluster_authority.h"
#include "sdk/base/testing/waits.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/pki/certificate_request.h"

namespace glim::nodeagent {
namespace {

using identity::ClusterAuthority;

class Signer final : public v1::AgentApi::Service {
 public:
  Signer(const ClusterAuthority& authority, std::function<TimePoint()> clock)
      : authority_(authority), clock_(std::move(clock)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    stub = v1::AgentApi::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  }
  grpc::Status RenewCertificate(grpc::ServerContext*, const v1::RenewCertificateRequest* request,
                                v1::RenewCertificateResponse* response) override {
    ++asked;
    held.wait(true);
    const std::lock_guard lock(mutex_);
    if (away) return {grpc::StatusCode::UNAVAILABLE, "the store is away"};
    const auto certificate = authority_.SignNode(request->csr(), sign_as, clock_() + clock_ahead);
    response->set_certificate(certificate->der());
    for (const pki::Certificate& one : authority_.Trust()) response->add_authorities(one.der());
    return grpc::Status::OK;
  }
  void Begin(TimePoint now) {
    const std::lock_guard lock(mutex_);
    ASSERT_TRUE(authority_.Begin(now).ok());
  }
  ClusterAuthority authority() {
    const std::lock_guard lock(mutex_);
    return authority_;
  }

  std::unique_ptr<v1::AgentApi::Stub> stub;
  std::atomic<int> asked = 0;
  std::atomic<bool> away = false;
  std::atomic<bool> held = false;  // no answer meanwhile
  Duration clock_ahead;
  std::string sign_as = "n1";

 private:
  std::mutex mutex_;
  ClusterAuthority authority_;
  std::function<TimePoint()> clock_;
  std::unique_ptr<grpc::Server> server_;
};

class RenewalTest : public testing::Test {
 protected:
  RenewalTest()
      : signer_(*ClusterAuthority::Create("c1", now_, FillRandomly), [this] { return now_.load(); }),
        folder_(temp_.path()) {
    first_.emplace(Signed());
    Write(*first_);
    Begin(1);
  }
  ~RenewalTest() override { End(); }
  NodeCredentials Signed() {
    const pki::PrivateKey key = pki::PrivateKey::Make();
    auto certificate = signer_.authority().SignNode(pki::MakeRequest(key, "n1"), "n1", now_);
    return {key, std::move(certificate).value(), signer_.authority().Trust()};
  }
  void Write(const NodeCredentials& credentials) const {
    auto draft = folder_.Begin();
    ASSERT_TRUE(draft.ok());
    ASSERT_TRUE(draft->Become(credentials, "head:7603").ok());
  }
  void Begin(std::uint64_t seed) {
    CertificateRenewal::Times times;
    times.look = std::chrono::milliseconds(5);
    renewal_.emplace(io_, folder_, *folder_.Read(), times, seed,
                     CertificateRenewal::Hooks{[this] {
                                                 ++begun_;
                                                 return signer_.stub.get();
                                               },
                                               [this] {
                                                 ++looks_;
                                                 return now_.load();
                                               },
                                               [this](const NodeCredentials& next) { renewed_.push_back(next); }});
    renewal_->Start();
  }
  void End() {
    renewal_->Stop();
    io_.run();
    io_.restart();
  }
  void Tell(const std::vector<pki::Certificate>& authorities) {
    v1::Welcome welcome;
    for (const pki::Certificate& one : authorities) welcome.add_authorities(one.der());
    renewal_->OnAuthorities(welcome.authorities());
  }
  // Runs the agent's loop until it is so; false: it never was.
  bool RunUntil(const std::function<bool()>& is, std::chrono::milliseconds bound = LongWait()) {
    const auto end = std::chrono::steady_clock::now() + bound;
    while (!is() && std::chrono::steady_clock::now() < end) io_.run_one_for(std::chrono::milliseconds(20));
    return is();
  }
  void RunFor(std::chrono::milliseconds time) {
    RunUntil([] { return false; }, time);
  }

  std::atomic<TimePoint> now_ = WallTime();  // the authority asks on a thread of its own
  Signer signer_;
  TempFolder temp_;
  IdentityFolder folder_;
  std::optional<NodeCredentials> first_;
  boost::asio::io_context io_;
  std::vector<NodeCredentials> renewed_;
  int begun_ = 0;  // calls to the scheduler
  int looks_ = 0;  // at the clock
  std::optional<CertificateRenewal> renewal_;
};

TEST_F(RenewalTest, BetweenTwoThirdsAndThreeQuartersAndNotBefore) {
  now_ = now_ + Hours(24) * 19;
  RunFor(std::chrono::milliseconds(100));
  EXPECT_EQ(signer_.asked, 0);
  now_ = now_ + Hours(24) * 4;
  ASSERT_TRUE(RunUntil([&] { return !renewed_.empty(); }));
  EXPECT_NE(renewed_[0].certificate.serial(), first_->certificate.serial());
  EXPECT_EQ(folder_.Read()->certificate, renewed_[0].certificate) << "the next agent finds it";
  EXPECT_EQ(folder_.Read()->key.Pem(), renewed_[0].key.Pem());
  EXPECT_NE(renewed_[0].key.Pem(), first_->key.Pem()) << "a copy of the old key is of no use any more";
  EXPECT_EQ(folder_.Scheduler(), "head:7603");
  RunFor(std::chrono::milliseconds(100));
  EXPECT_EQ(signer_.asked, 1) << "once";
}

TEST_F(RenewalTest, ASchedulerThatCannotNowIsAskedAgainAfterAWhile) {
  signer_.away = true;
  now_ = now_ + Hours(24) * 23;
  ASSERT_TRUE(RunUntil([&] { return signer_.asked == 1; }));
  RunFor(std::chrono::milliseconds(200));
  EXPECT_EQ(signer_.asked, 1);
  signer_.away = false;
  now_ = now_ + Minutes(3);
  EXPECT_TRUE(RunUntil([&] { return renewed_.size() == 1; }));
}

TEST_F(RenewalTest, ACertificateOfSomebodyElseIsNotTaken) {
  signer_.sign_as = "n2";
  now_ = now_ + Hours(24) * 23;
  ASSERT_TRUE(RunUntil([&] { return signer_.asked == 1; }));
  RunFor(std::chrono::milliseconds(100));
  EXPECT_TRUE(renewed_.empty());
  EXPECT_EQ(folder_.Read()->certificate, first_->certificate);
}

// Nodes that were enrolled in one hour do not come in one hour, three weeks later.
TEST_F(RenewalTest, NodesEnrolledTogetherRenewOverDays) {
  End();
  const TimePoint begin = now_;
  std::set<std::int64_t> days;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    now_ = begin;
    Write(*first_);
    Begin(seed);
    const int begun = begun_;
    // A quarter of a day at a time, and a look at each, until it asks.
    for (now_ = begin + Hours(24) * 19; begun_ == begun && now_ < begin + Hours(24) * 23;) {
      now_ = now_ + Hours(6);
      const int looks = looks_;
      ASSERT_TRUE(RunUntil([&] { return looks_ > looks + 10; }));
    }
    EXPECT_GT(begun_, begun) << "at three quarters, at the latest";
    days.insert((now_ - begin).ms / Hours(12).ms);
    End();
  }
  EXPECT_GE(days.size(), 3u);
  EXPECT_GE(*days.begin(), 38) << "none before two thirds";
}

// What a Welcome says while the authority is changed.
TEST_F(RenewalTest, AnotherAuthorityIsTrustedAndSignsAtOnce) {
  Tell(signer_.authority().Trust());
  RunFor(std::chrono::milliseconds(50));
  EXPECT_EQ(signer_.asked, 0) << "nothing has changed";
  signer_.Begin(now_);
  Tell(signer_.authority().Trust());
  EXPECT_EQ(folder_.Read()->authorities.size(), 2u);
  ASSERT_TRUE(RunUntil([&] { return renewed_.size() == 1; }));
  EXPECT_TRUE(signer_.authority().IsOfSigner(renewed_[0].certificate.serial()));
  v1::Welcome torn;
  torn.add_authorities("no certificate");
  renewal_->OnAuthorities(torn.authorities());
  EXPECT_EQ(folder_.Read()->authorities.size(), 2u);
}

// Whoever has the old authority's key could be the scheduler for every agent that goes on with what it connected by.
TEST_F(RenewalTest, AnAuthorityThatIsDroppedIsTrustedNoLonger) {
  signer_.Begin(now_);
  Tell(signer_.authority().Trust());
  ASSERT_TRUE(RunUntil([&] { return renewed_.size() == 1; }));
  Tell({signer_.authority().Trust().back()});
  ASSERT_EQ(renewed_.size(), 2u) << "connect anew";
  ASSERT_EQ(renewed_[1].authorities.size(), 1u);
  EXPECT_EQ(renewed_[1].authorities[0], signer_.authority().Trust().back());
  EXPECT_EQ(renewed_[1].certificate, renewed_[0].certificate);
  EXPECT_EQ(folder_.Read()->authorities.size(), 1u);
  Tell({signer_.authority().Trust().back()});
  EXPECT_EQ(renewed_.size(), 2u) << "once";
  EXPECT_EQ(signer_.asked, 1);
}

TEST_F(RenewalTest, WhomToTrustNoLongerCountsWithoutRoomForIt) {
  signer_.Begin(now_);
  Tell(signer_.authority().Trust());
  ASSERT_TRUE(RunUntil([&] { return renewed_.size() == 1; }));
  ASSERT_EQ(::chmod((temp_.path() + "/identity").c_str(), 0777), 0);  // it refuses to write there
  Tell({signer_.authority().Trust().back()});
  EXPECT_EQ(renewed_.size(), 2u);
  ASSERT_EQ(::chmod((temp_.path() + "/identity").c_str(), 0700), 0);
  EXPECT_EQ(folder_.Read()->authorities.size(), 2u);
  Tell({signer_.authority().Trust().back()});
  EXPECT_EQ(folder_.Read()->authorities.size(), 1u) << "written with the next Welcome";
  EXPECT_EQ(renewed_.size(), 2u);
}

// Without room the answer would be lost, and a certificate made for nothing each minute.
TEST_F(RenewalTest, NothingIsAskedForThatCouldNotBeKept) {
  ASSERT_EQ(::chmod((temp_.path() + "/identity").c_str(), 0777), 0);
  now_ = now_ + Hours(24) * 23;
  RunFor(std::chrono::milliseconds(100));
  EXPECT_EQ(signer_.asked, 0);
  ASSERT_EQ(::chmod((temp_.path() + "/identity").c_str(), 0700), 0);
  now_ = now_ + Minutes(3);
  EXPECT_TRUE(RunUntil([&] { return renewed_.size() == 1; }));
}

// By a clock that is behind the new certificate has not begun, by one that is ahead it is old or over: neither keeps
// the node from renewing, nor makes it ask without a pause.
TEST_F(RenewalTest, AClockThatIsOffNeitherStopsItNorHastensIt) {
  for (const int days : {-5, 25, 40}) {
    renewed_.clear();
    const int asked = signer_.asked;
    signer_.clock_ahead = Hours(24) * -days;
    now_ = now_ + Hours(24) * 40;
    ASSERT_TRUE(RunUntil([&] { return renewed_.size() == 1; })) << days;
    RunFor(std::chrono::milliseconds(100));
    now_ = now_ + Minutes(10);
    RunFor(std::chrono::milliseconds(100));
    EXPECT_EQ(signer_.asked, asked + 1) << days;
  }
}

TEST_F(RenewalTest, AClockThatIsSetBackDelaysNoSecondAttempt) {
  signer_.away = true;
  now_ = now_ + Hours(24) * 29;
  ASSERT_TRUE(RunUntil([&] { return signer_.asked == 1; }));
  RunFor(std::chrono::milliseconds(50));
  signer_.away = false;
  now_ = now_ - Hours(24) * 5;
  EXPECT_TRUE(RunUntil([&] { return renewed_.size() == 1; }));
}

TEST_F(RenewalTest, WhatEnrolWroteBesideItIsTaken) {
  const NodeCredentials other = Signed();
  Write(other);
  ASSERT_TRUE(RunUntil([&] { return renewed_.size() == 1; }));
  EXPECT_EQ(renewed_[0].key.Pem(), other.key.Pem());
  EXPECT_EQ(signer_.asked, 0);
}

// Whoever takes a machine out of the cluster removes its identity, or enrols it as another node: the agent that still
// runs does not bring the old one back.
TEST_F(RenewalTest, AnIdentityThatWasRemovedOrIsOfAnotherNodeIsLeftAlone) {
  const identity::ClusterAuthority authority = signer_.authority();
  const pki::PrivateKey key = pki::PrivateKey::Make();
  auto certificate = authority.SignNode(pki::MakeRequest(key, "n2"), "n2", now_);
  const NodeCredentials other{key, std::move(certificate).value(), authority.Trust()};
  Write(other);
  now_ = now_ + Hours(24) * 23;
  RunFor(std::chrono::milliseconds(100));
  EXPECT_EQ(folder_.Read()->certificate.node(), "n2");
  std::filesystem::remove_all(temp_.path() + "/identity");
  RunFor(std::chrono::milliseconds(100));
  Tell({authority.Trust()[0], authority.Trust()[0]});
  EXPECT_EQ(folder_.Version(), 0u);
  EXPECT_FALSE(std::filesystem::exists(temp_.path() + "/identity/node.pem"));
  EXPECT_EQ(signer_.asked, 0);
  EXPECT_TRUE(renewed_.empty());
  now_ = now_ - Hours(24) * 23;
  Write(Signed());
  EXPECT_TRUE(RunUntil([&] { return renewed_.size() == 1; })) << "enrolled again as what it is";
}

// The answer to a renewal comes when `enrol` has made another identity: that one stays.
TEST_F(RenewalTest, WhatEnrolWroteMeanwhileIsNotOverwritten) {
  signer_.held = true;
  now_ = now_ + Hours(24) * 23;
  ASSERT_TRUE(RunUntil([&] { return signer_.asked == 1; }));
  const NodeCredentials other = Signed();
  Write(other);
  signer_.held = false;
  signer_.held.notify_all();
  ASSERT_TRUE(RunUntil([&] { return !renewed_.empty(); }));
  RunFor(std::chrono::milliseconds(100));
  EXPECT_EQ(renewed_.back().key.Pem(), other.key.Pem());
  EXPECT_EQ(folder_.Read()->key.Pem(), other.key.Pem());
}

}  // namespace
}  // namespace glim::nodeagent
