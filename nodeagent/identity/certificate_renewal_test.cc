// When a node's certificate is renewed, by a clock of the test's, against a scheduler that signs.
#include "nodeagent/identity/certificate_renewal.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "scheduler/identity/cluster_authority.h"
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
    const std::lock_guard lock(mutex_);
    ++asked;
    if (away) return {grpc::StatusCode::UNAVAILABLE, "the store is away"};
    const auto certificate = authority_.SignNode(request->csr(), sign_as, clock_());
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
      : signer_(*ClusterAuthority::Create("c1", now_, FillRandomly), [this] { return TimePoint{now_.ms}; }),
        folder_(temp_.path()) {
    const pki::PrivateKey key = pki::PrivateKey::Make();
    auto certificate = signer_.authority().SignNode(pki::MakeRequest(key, "n1"), "n1", now_);
    first_.emplace(NodeCredentials{key, std::move(certificate).value(), signer_.authority().Trust()});
    EXPECT_TRUE(folder_.WriteAll(*first_, "head:7603").ok());
    CertificateRenewal::Times times;
    times.look = std::chrono::milliseconds(5);
    renewal_.emplace(io_, folder_, *first_, times,
                     CertificateRenewal::Hooks{[this] { return signer_.stub.get(); }, [this] { return now_; },
                                               [this](const NodeCredentials& next) { renewed_.push_back(next); }});
    renewal_->Start();
  }
  ~RenewalTest() override {
    renewal_->Stop();
    io_.run();
  }
  // Runs the agent's loop until it is so; false: it never was.
  bool RunUntil(const std::function<bool()>& is, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!is() && std::chrono::steady_clock::now() < end) io_.run_one_for(std::chrono::milliseconds(20));
    return is();
  }
  void RunFor(std::chrono::milliseconds time) {
    RunUntil([] { return false; }, time);
  }

  TimePoint now_ = WallTime();
  Signer signer_;
  TempFolder temp_;
  IdentityFolder folder_;
  std::optional<NodeCredentials> first_;
  boost::asio::io_context io_;
  std::vector<NodeCredentials> renewed_;
  std::optional<CertificateRenewal> renewal_;
};

TEST_F(RenewalTest, AtTwoThirdsAndNotBefore) {
  now_ = now_ + Hours(19 * 24);
  RunFor(std::chrono::milliseconds(100));
  EXPECT_EQ(signer_.asked, 0);
  now_ = now_ + Hours(25);
  ASSERT_TRUE(RunUntil([&] { return !renewed_.empty(); }));
  EXPECT_NE(renewed_[0].certificate.serial(), first_->certificate.serial());
  EXPECT_EQ(folder_.Read()->certificate, renewed_[0].certificate) << "the next agent finds it";
  RunFor(std::chrono::milliseconds(100));
  EXPECT_EQ(signer_.asked, 1) << "once";
}

TEST_F(RenewalTest, ASchedulerThatCannotNowIsAskedAgainAfterAWhile) {
  signer_.away = true;
  now_ = now_ + Hours(21 * 24);
  ASSERT_TRUE(RunUntil([&] { return signer_.asked == 1; }));
  RunFor(std::chrono::milliseconds(200));
  EXPECT_EQ(signer_.asked, 1);
  signer_.away = false;
  now_ = now_ + Minutes(2);
  EXPECT_TRUE(RunUntil([&] { return renewed_.size() == 1; }));
}

TEST_F(RenewalTest, ACertificateOfSomebodyElseIsNotTaken) {
  signer_.sign_as = "n2";
  now_ = now_ + Hours(21 * 24);
  ASSERT_TRUE(RunUntil([&] { return signer_.asked == 1; }));
  RunFor(std::chrono::milliseconds(100));
  EXPECT_TRUE(renewed_.empty());
  EXPECT_EQ(folder_.Read()->certificate, first_->certificate);
}

// What a Welcome says while the authority is changed.
TEST_F(RenewalTest, AnotherAuthorityIsTrustedAndSignsAtOnce) {
  v1::Welcome welcome;
  welcome.add_authorities(signer_.authority().Trust()[0].der());
  renewal_->OnAuthorities(welcome.authorities());
  RunFor(std::chrono::milliseconds(50));
  EXPECT_EQ(signer_.asked, 0) << "nothing has changed";
  signer_.Begin(now_);
  welcome.clear_authorities();
  for (const pki::Certificate& one : signer_.authority().Trust()) welcome.add_authorities(one.der());
  renewal_->OnAuthorities(welcome.authorities());
  EXPECT_EQ(folder_.Read()->authorities.size(), 2u);
  ASSERT_TRUE(RunUntil([&] { return renewed_.size() == 1; }));
  EXPECT_TRUE(signer_.authority().IsOfSigner(renewed_[0].certificate.serial()));
  v1::Welcome torn;
  torn.add_authorities("no certificate");
  renewal_->OnAuthorities(torn.authorities());
  EXPECT_EQ(folder_.Read()->authorities.size(), 2u);
}

TEST_F(RenewalTest, WhatEnrolWroteBesideItIsTaken) {
  const pki::PrivateKey key = pki::PrivateKey::Make();
  auto certificate = signer_.authority().SignNode(pki::MakeRequest(key, "n1"), "n1", now_);
  const NodeCredentials other{key, std::move(certificate).value(), signer_.authority().Trust()};
  ASSERT_TRUE(folder_.WriteAll(other, "head:7603").ok());
  ASSERT_TRUE(RunUntil([&] { return renewed_.size() == 1; }));
  EXPECT_EQ(renewed_[0].key.Pem(), key.Pem());
  EXPECT_EQ(signer_.asked, 0);
}

}  // namespace
}  // namespace glim::nodeagent
