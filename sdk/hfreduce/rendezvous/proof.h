// How the two ends of a connection prove to each other that they have the attempt's secret, before anything else that
// one of them says is read. Whoever connected asks, the other one answers, the first proves; little endian:
//
//   ask     0 magic[4]  4 step (1)  5 what for  6 zero[2]  8 from  12 to  16 nonce[32]
//   answer  0 magic[4]  4 step (2)  5 has a secret  6 zero[2]  8 nonce[32]  40 MAC[32]
//   proof   0 magic[4]  4 step (3)  5 zero[3]  8 MAC[32]
//
// Each MAC is over a word for its direction, all of the ask, and the answer up to its MAC: what was recorded, what was
// said to another node or for another connection, and what the other side said itself prove nothing. What follows is
// neither hidden nor signed: who can change what a TCP connection carries is not kept out.
//
// Without a secret on either side nothing of this is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/hfreduce/rendezvous/secret.h"

namespace glim::hfreduce {

inline constexpr std::size_t kAskBytes = 48;
inline constexpr std::size_t kAnswerBytes = 72;
inline constexpr std::size_t kProofBytes = 40;

enum class ProofFor : std::uint8_t { kStore = 1, kEdge = 2 };

// What a connection is for, and between whom: nodes, for an edge; of the store 0.
struct ProofParties {
  ProofFor what = ProofFor::kStore;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool operator==(const ProofParties&) const = default;
};

enum class ProofStep {
  kPartial,  // more has to come
  kProven,
  kRefused,
};

// Whoever connected. One thread at a time; a secret is there.
class Prover {
 public:
  Prover(const Secret& secret, const ProofParties& parties);
  // To be said first.
  const std::string& ask() const { return ask_; }
  // Takes the answer off what was heard. Proven: the other side has the secret, and is to be told `proof`. Refused:
  // `why` says what it showed instead.
  ProofStep Hear(std::string& heard);
  const std::string& proof() const { return proof_; }
  const std::string& why() const { return why_; }

 private:
  Secret secret_;
  std::string ask_;
  std::string proof_;
  std::string why_;
};

// The other end. `secret` may be empty: then whoever does not ask for a proof needs none. One thread at a time.
class Examiner {
 public:
  // `to`: whom the ask has to name.
  Examiner(Secret secret, ProofFor what, std::uint32_t to);
  // Takes what belongs to the proof off what was heard; what follows stays. `reply` is to be sent, if it is not empty,
  // also when the other side is refused.
  ProofStep Hear(std::string& heard, std::string* reply);
  // Of whom it was proven: nobody, without a secret.
  const ProofParties& parties() const { return parties_; }
  bool has_asked() const { return !expected_.empty(); }
  // Refused, because it began with something else than an ask.
  bool spoke_plainly() const { return plain_; }

 private:
  ProofStep HearAsk(std::string& heard, std::string* reply);

  Secret secret_;
  ProofFor what_;
  std::uint32_t to_;
  ProofParties parties_;
  std::string expected_;  // what the proof is over; empty: no ask was heard
  bool plain_ = false;
};

}  // namespace glim::hfreduce
