#include "sdk/hfreduce/rendezvous/proof.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "sdk/io/random_bytes.h"

namespace glim::hfreduce {
namespace {

constexpr std::string_view kMagic = "GHP1";
constexpr std::size_t kNonceBytes = 32;
constexpr char kAsked = 1;
constexpr char kAnswered = 2;
constexpr char kProved = 3;
constexpr std::size_t kAnswerHeadBytes = kAnswerBytes - kMacBytes;

std::string Head(char step, char second) { return std::string(kMagic) + step + second + std::string(2, '\0'); }

std::string Number(std::uint32_t value) {
  static_assert(std::endian::native == std::endian::little);
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

std::uint32_t NumberAt(const std::string& text, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

std::string Nonce() {
  std::string nonce(kNonceBytes, '\0');
  FillRandomly(std::as_writable_bytes(std::span(nonce)));
  return nonce;
}

std::string TextOf(const Mac& mac) { return {reinterpret_cast<const char*>(mac.data()), mac.size()}; }

Mac MacAt(const std::string& text, std::size_t at) {
  Mac mac{};
  std::memcpy(mac.data(), text.data() + at, mac.size());
  return mac;
}

Mac Answering(const Secret& secret, const std::string& said) { return secret.Sign("answer\n" + said); }
Mac Proving(const Secret& secret, const std::string& said) { return secret.Sign("proof\n" + said); }

// Whether it is how a message of this protocol begins, as far as it has come.
bool BeginsRight(const std::string& heard) {
  const std::size_t common = std::min(kMagic.size(), heard.size());
  return std::string_view(heard).substr(0, common) == kMagic.substr(0, common);
}

std::string Take(std::string& heard, std::size_t bytes) {
  std::string taken = heard.substr(0, bytes);
  heard.erase(0, bytes);
  return taken;
}

}  // namespace

Prover::Prover(const Secret& secret, const ProofParties& parties)
    : secret_(secret),
      ask_(Head(kAsked, static_cast<char>(parties.what)) + Number(parties.from) + Number(parties.to) + Nonce()) {}

ProofStep Prover::Hear(std::string& heard) {
  if (!BeginsRight(heard)) {
    why_ = "it does not speak this protocol";
    return ProofStep::kRefused;
  }
  if (heard.size() < kAnswerBytes) return ProofStep::kPartial;
  const std::string answer = Take(heard, kAnswerBytes);
  if (answer[4] != kAnswered || answer[5] == 0) {
    why_ = answer[4] == kAnswered ? "it has no secret, and this process has one (GLIM_ATTEMPT_SECRET_FILE)"
                                  : "it does not speak this protocol";
    return ProofStep::kRefused;
  }
  const std::string said = ask_ + answer.substr(0, kAnswerHeadBytes);
  if (!SameMac(Answering(secret_, said), MacAt(answer, kAnswerHeadBytes))) {
    why_ = "it has another secret than this process (GLIM_ATTEMPT_SECRET_FILE)";
    return ProofStep::kRefused;
  }
  proof_ = Head(kProved, 0) + TextOf(Proving(secret_, said));
  return ProofStep::kProven;
}

Examiner::Examiner(Secret secret, ProofFor what, std::uint32_t to) : secret_(std::move(secret)), what_(what), to_(to) {}

ProofStep Examiner::Hear(std::string& heard, std::string* reply) {
  reply->clear();
  if (heard.empty()) return ProofStep::kPartial;
  if (!BeginsRight(heard)) {
    plain_ = expected_.empty();
    return secret_ || !plain_ ? ProofStep::kRefused : ProofStep::kProven;
  }
  if (expected_.empty()) return HearAsk(heard, reply);
  if (heard.size() < kProofBytes) return ProofStep::kPartial;
  const std::string proof = Take(heard, kProofBytes);
  const bool right = proof[4] == kProved && SameMac(Proving(secret_, expected_), MacAt(proof, kProofBytes - kMacBytes));
  return right ? ProofStep::kProven : ProofStep::kRefused;
}

ProofStep Examiner::HearAsk(std::string& heard, std::string* reply) {
  if (heard.size() < kAskBytes) return ProofStep::kPartial;
  const std::string ask = Take(heard, kAskBytes);
  parties_ = {static_cast<ProofFor>(ask[5]), NumberAt(ask, 8), NumberAt(ask, 12)};
  // Who asks waits for the answer: it could not know yet what to prove.
  if (ask[4] != kAsked || parties_.what != what_ || parties_.to != to_ || !heard.empty()) return ProofStep::kRefused;
  if (!secret_) {
    *reply = Head(kAnswered, 0) + std::string(kNonceBytes + kMacBytes, '\0');
    return ProofStep::kRefused;
  }
  const std::string head = Head(kAnswered, 1) + Nonce();
  expected_ = ask + head;
  *reply = head + TextOf(Answering(secret_, expected_));
  return ProofStep::kPartial;
}

}  // namespace glim::hfreduce
