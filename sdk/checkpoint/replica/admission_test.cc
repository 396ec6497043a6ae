// Who is let in: the newest attempt's own process, and nobody with anything else in his hands.
#include "sdk/checkpoint/replica/admission.h"

#include <gtest/gtest.h>

#include <functional>

namespace glim::checkpoint {
namespace {

ReplicaClaims Claims(std::uint32_t attempt = 3, std::uint64_t job = 17) {
  ReplicaClaims claims;
  claims.cluster = "c1";
  claims.job = job;
  claims.attempt = attempt;
  claims.user = "kim";
  return claims;
}

// One handshake as the client makes it, of which each part may be another.
struct Case {
  Ed25519Seed issuer = MakeEd25519Seed();
  Ed25519Seed service_seed = MakeEd25519Seed();
  ReplicaState service{"h:1", PublicKeyOf(service_seed), 5};
  ReplicaIssuers issuers{"c1", {PublicKeyOf(MakeEd25519Seed()), PublicKeyOf(issuer)}, false};
  ReplicaToken token = ParseReplicaToken(MakeReplicaToken(issuer, Claims())).value();
  Hello hello{kReplicaProtocol, "17", 3, MakeNonce()};
  Nonce nonce = MakeNonce();
  Answer answer;

  Case() { Sign(); }
  void Sign() {
    Handshake shake = HandshakeOf(token.claims, hello.nonce, nonce);
    shake.only_reads = hello.attempt == 0;
    shake.service_key = service.key;
    shake.client_worker = "worker";
    answer = {token.certificate, Prove(token.seed, Side::kClient, shake), "worker"};
  }
  Result<ReplicaClaims> Check() const { return CheckAnswer(hello, nonce, answer, issuers, service); }
};

TEST(Admission, AnAttemptsOwnTokenIsGood) {
  Case c;
  const auto claims = c.Check();
  ASSERT_TRUE(claims.ok()) << claims.status().message();
  EXPECT_EQ(claims->user, "kim");
  EXPECT_EQ(claims->attempt, 3U);
  c.hello.attempt = 0;
  c.Sign();
  EXPECT_TRUE(c.Check().ok()) << "it only reads";
}

TEST(Admission, WhateverElseIsShownIsNot) {
  const std::pair<const char*, std::function<void(Case&)>> changes[] = {
      {"another issuer's key", [](Case& c) { c.issuers.keys = {PublicKeyOf(MakeEd25519Seed())}; }},
      {"another cluster", [](Case& c) { c.issuers.cluster = "c2"; }},
      {"another job's token",
       [](Case& c) {
         c.token = ParseReplicaToken(MakeReplicaToken(c.issuer, Claims(3, 18))).value();
         c.Sign();
       }},
      {"another attempt's token",
       [](Case& c) {
         c.token = ParseReplicaToken(MakeReplicaToken(c.issuer, Claims(2))).value();
         c.Sign();
       }},
      {"another's certificate",
       [](Case& c) {
         c.answer.certificate = ParseReplicaToken(MakeReplicaToken(c.issuer, Claims(2))).value().certificate;
       }},
      {"the certificate without the key",
       [](Case& c) {
         c.token.seed = MakeEd25519Seed();
         c.Sign();
       }},
      {"a worker that is another's", [](Case& c) { c.answer.worker = "another's worker"; }},
      {"an answer to another challenge", [](Case& c) { c.nonce = MakeNonce(); }},
      {"an answer of another connection", [](Case& c) { c.hello.nonce = MakeNonce(); }},
      {"an answer that was meant for another service", [](Case& c) { c.service.key = PublicKeyOf(MakeEd25519Seed()); }},
      {"a reader's answer as a writer's",
       [](Case& c) {
         c.hello.attempt = 0;
         c.Sign();
         c.hello.attempt = 3;
       }},
      {"a torn certificate", [](Case& c) { c.answer.certificate.pop_back(); }},
      {"no certificate", [](Case& c) { c.answer.certificate.clear(); }},
  };
  for (const auto& [what, change] : changes) {
    Case c;
    ASSERT_TRUE(c.Check().ok());
    change(c);
    const Status refused = c.Check().status();
    EXPECT_EQ(refused.code(), StatusCode::kUnauthenticated) << what;
    EXPECT_EQ(refused.reason(), "BAD_TOKEN") << what;
  }
}

TEST(Admission, WithoutKeysNobodyIsLetInAndTheWordsSayWhy) {
  Case c;
  c.issuers.keys.clear();
  EXPECT_EQ(c.Check().status().reason(), "NO_KEYS");
  EXPECT_EQ(c.Check().status().code(), StatusCode::kUnavailable);
}

TEST(Admission, AnOldClientIsToldWhatToUpgrade) {
  const Status old = CheckHello({1, "17", 3, {}});
  EXPECT_EQ(old.reason(), "PROTOCOL_VERSION");
  EXPECT_EQ(old.message(), "this service speaks protocol 2, the task's SDK 1");
  EXPECT_EQ(old.fix(), "upgrade the SDK on the task's node");
  EXPECT_EQ(CheckHello({3, "17", 3, {}}).fix(), "upgrade glim-replica on this service's node");
  EXPECT_EQ(CheckHello({2, "", 3, {}}).field(), "job");
  EXPECT_TRUE(CheckHello({2, "17", 3, {}}).ok());
}

// The client holds the same against what it asked for.
TEST(Admission, AWelcomeIsOfThisServiceAndItsWorker) {
  const Case c;
  const Welcome welcome =
      MakeWelcome(c.hello, c.nonce, c.token.claims, "worker", "its worker", c.service, c.service_seed);
  Handshake shake = HandshakeOf(c.token.claims, c.hello.nonce, c.nonce);
  shake.service_key = c.service.key;
  shake.client_worker = "worker";
  shake.service_worker = welcome.worker;
  EXPECT_TRUE(IsProof(c.service.key, Side::kService, shake, welcome.proof));
  shake.service_worker = "another's";
  EXPECT_FALSE(IsProof(c.service.key, Side::kService, shake, welcome.proof));
}

}  // namespace
}  // namespace glim::checkpoint
