// What proves that the other side has the secret, and what does not.
#include "sdk/hfreduce/rendezvous/proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sdk/hfreduce/rendezvous/testing/secrets.h"

namespace glim::hfreduce {
namespace {

using testing::DigitsOf;
using ::testing::HasSubstr;
using testing::SecretOf;

constexpr ProofParties kParties{ProofFor::kEdge, 0, 1};

struct Handshake {
  std::string ask, answer, proof;
  ProofStep asking = ProofStep::kPartial;  // what who asks thinks of the other side
  ProofStep asked = ProofStep::kPartial;   // and the other way round
};

Handshake Between(Prover prover, Examiner examiner) {
  Handshake said;
  said.ask = prover.ask();
  std::string heard = said.ask;
  said.asked = examiner.Hear(heard, &said.answer);
  std::string answer = said.answer;
  if (answer.empty()) return said;
  said.asking = prover.Hear(answer);
  if (said.asking != ProofStep::kProven) return said;
  said.proof = heard = prover.proof();
  std::string nothing;
  said.asked = examiner.Hear(heard, &nothing);
  return said;
}

Examiner ExaminerWith(const Secret& secret) { return {secret, kParties.what, kParties.to}; }

TEST(Proof, BothSidesOfOneAttemptKnowEachOther) {
  const Handshake said = Between({SecretOf('a'), kParties}, ExaminerWith(SecretOf('a')));
  EXPECT_EQ(said.asking, ProofStep::kProven);
  EXPECT_EQ(said.asked, ProofStep::kProven);
  EXPECT_EQ(said.ask.size(), kAskBytes);
  EXPECT_EQ(said.answer.size(), kAnswerBytes);
  EXPECT_EQ(said.proof.size(), kProofBytes);
}

TEST(Proof, WhatComesInPiecesCountsAndWhatFollowsStays) {
  Prover prover(SecretOf('a'), kParties);
  Examiner examiner = ExaminerWith(SecretOf('a'));
  std::string heard, reply, answer;
  for (const char c : prover.ask()) {
    EXPECT_EQ(examiner.Hear(heard += c, &reply), ProofStep::kPartial);
    answer += reply;
  }
  ASSERT_EQ(prover.Hear(answer), ProofStep::kProven);
  heard = prover.proof() + "hello";
  EXPECT_EQ(examiner.Hear(heard, &reply), ProofStep::kProven);
  EXPECT_EQ(heard, "hello");
  EXPECT_EQ(examiner.parties(), kParties);
}

TEST(Proof, AnotherSecretOrAnotherAttemptsProvesNothing) {
  for (const Secret& other : {SecretOf('b'), SecretOf('a', "7.2"), SecretOf('a', "")}) {
    Prover prover(SecretOf('a'), kParties);
    Examiner examiner = ExaminerWith(other);
    std::string heard = prover.ask(), answer;
    examiner.Hear(heard, &answer);
    EXPECT_EQ(prover.Hear(answer), ProofStep::kRefused);
    EXPECT_THAT(prover.why(), HasSubstr("another secret"));
    EXPECT_EQ(prover.proof(), "") << "nothing is proven to who has not";
  }
}

// The other way round: who knows the protocol and not the secret goes on as if it had believed the answer.
TEST(Proof, AProofUnderAnotherSecretIsRefused) {
  Prover stranger(SecretOf('b'), kParties);
  Examiner examiner = ExaminerWith(SecretOf('a'));
  std::string heard = stranger.ask(), answer, nothing;
  examiner.Hear(heard, &answer);
  heard = Between({SecretOf('b'), kParties}, ExaminerWith(SecretOf('b'))).proof;
  EXPECT_EQ(examiner.Hear(heard, &nothing), ProofStep::kRefused);
}

TEST(Proof, WhatWasRecordedProvesNothingAgain) {
  const Handshake recorded = Between({SecretOf('a'), kParties}, ExaminerWith(SecretOf('a')));
  Examiner examiner = ExaminerWith(SecretOf('a'));
  std::string heard = recorded.ask, answer, nothing;
  examiner.Hear(heard, &answer);
  EXPECT_NE(answer, recorded.answer) << "another nonce each time";
  heard = recorded.proof;
  EXPECT_EQ(examiner.Hear(heard, &nothing), ProofStep::kRefused);

  Prover prover(SecretOf('a'), kParties);
  heard = recorded.answer;
  EXPECT_EQ(prover.Hear(heard), ProofStep::kRefused);
}

// A stranger shows each side its own words, or those of the other direction.
TEST(Proof, WhatASideSaidItselfProvesNothingToIt) {
  Examiner examiner = ExaminerWith(SecretOf('a'));
  Prover prover(SecretOf('a'), kParties);
  std::string heard = prover.ask(), answer, nothing;
  examiner.Hear(heard, &answer);
  std::string mac_of_the_answer = std::string("GHP1\x03\0\0\0", 8) + answer.substr(kAnswerBytes - kMacBytes);
  EXPECT_EQ(examiner.Hear(mac_of_the_answer, &nothing), ProofStep::kRefused);

  Prover reflected(SecretOf('a'), kParties);
  std::string own = reflected.ask() + std::string(kAnswerBytes - kAskBytes, '\0');
  EXPECT_EQ(reflected.Hear(own), ProofStep::kRefused);
}

// An answer that another node gave, or the same one for something else, is not this connection's.
TEST(Proof, HoldsForItsPartiesAlone) {
  for (const ProofParties& other : {ProofParties{ProofFor::kEdge, 0, 2}, {ProofFor::kEdge, 3, 1}, {ProofFor::kStore}}) {
    Prover prover(SecretOf('a'), kParties);
    Prover elsewhere(SecretOf('a'), other);
    Examiner examiner(SecretOf('a'), other.what, other.to);
    std::string heard = elsewhere.ask(), answer;
    examiner.Hear(heard, &answer);
    EXPECT_EQ(prover.Hear(answer), ProofStep::kRefused);
  }
  Examiner examiner = ExaminerWith(SecretOf('a'));
  std::string heard = Prover(SecretOf('a'), {ProofFor::kEdge, 0, 2}).ask(), reply;
  EXPECT_EQ(examiner.Hear(heard, &reply), ProofStep::kRefused) << "it is meant for another node";
  EXPECT_EQ(reply, "");
}

TEST(Proof, WhereOneSideAloneHasASecretTheCauseIsNamed) {
  Prover prover(SecretOf('a'), kParties);
  Examiner without = ExaminerWith(Secret());
  std::string heard = prover.ask(), answer;
  EXPECT_EQ(without.Hear(heard, &answer), ProofStep::kRefused);
  EXPECT_EQ(prover.Hear(answer), ProofStep::kRefused);
  EXPECT_THAT(prover.why(), HasSubstr("it has no secret, and this process has one"));

  Examiner with = ExaminerWith(SecretOf('a'));
  std::string plain = "GHS1 a request of today's", reply;
  EXPECT_EQ(with.Hear(plain, &reply), ProofStep::kRefused);
  EXPECT_TRUE(with.spoke_plainly());
  EXPECT_EQ(reply, "");
}

TEST(Proof, WithoutSecretsNobodyIsAskedForOne) {
  Examiner examiner = ExaminerWith(Secret());
  std::string plain = "GHS1 a request of today's", reply;
  EXPECT_EQ(examiner.Hear(plain, &reply), ProofStep::kProven);
  EXPECT_EQ(plain, "GHS1 a request of today's");
}

TEST(Proof, NoiseIsRefusedAtOnceAndNotAnswered) {
  for (const std::string& noise : {std::string("GET / HTTP/1.1\r\n"), std::string(100, '\xff'), std::string(1, '\0')}) {
    Examiner examiner = ExaminerWith(SecretOf('a'));
    std::string heard = noise, reply;
    EXPECT_EQ(examiner.Hear(heard, &reply), ProofStep::kRefused);
    EXPECT_EQ(reply, "");
    Prover prover(SecretOf('a'), kParties);
    heard = noise;
    EXPECT_EQ(prover.Hear(heard), ProofStep::kRefused);
  }
}

class SecretFile : public ::testing::Test {
 protected:
  SecretFile() : path_(::testing::TempDir() + "secret-" + std::to_string(::getpid())) {}
  ~SecretFile() override { std::filesystem::remove(path_); }
  void Write(const std::string& text, mode_t mode = 0400) const {
    std::filesystem::remove(path_);
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), mode);
  }
  const std::string path_;
};

TEST_F(SecretFile, Holds64DigitsWithOrWithoutANewline) {
  for (const std::string end : {"", "\n"}) {
    Write(DigitsOf('a') + end);
    const auto read = Secret::Read(path_, "7.1");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(SameMac(read->Sign("x"), SecretOf('a').Sign("x")));
    EXPECT_FALSE(SameMac(read->Sign("x"), SecretOf('b').Sign("x")));
  }
}

TEST_F(SecretFile, ThatIsMissingOrOpenToOthersOrHoldsSomethingElseIsNamedAndNotQuoted) {
  EXPECT_EQ(Secret::Read(path_, "7.1").status().code(), StatusCode::kNotFound);
  Write(DigitsOf('a'), 0440);
  EXPECT_EQ(Secret::Read(path_, "7.1").status().code(), StatusCode::kPermissionDenied);
  for (const std::string& other : {std::string("my-words"), DigitsOf('a') + "a", DigitsOf('A'), std::string()}) {
    Write(other);
    const Status status = Secret::Read(path_, "7.1").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(path_));
    EXPECT_TRUE(other.empty() || status.message().find(other) == std::string::npos);
  }
}

}  // namespace
}  // namespace glim::hfreduce
