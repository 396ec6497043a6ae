#include "scheduler/identity/job_token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <span>

#include "scheduler/identity/seal.h"
#include "sdk/base/check.h"
#include "sdk/base/hex.h"

namespace glim::identity {
namespace {

constexpr const char* kKind = "sealed";
constexpr std::size_t kKeyBytes = 32;

std::string Hmac(std::string_view key, const std::string& text) {
  std::array<unsigned char, 32> digest{};
  unsigned bytes = 0;
  const unsigned char* made =
      ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &bytes);
  GLIM_CHECK(made != nullptr && bytes == digest.size(), "HMAC-SHA-256 is always there");
  return HexText(digest);
}

std::string NameOf(core::AttemptId attempt) {
  return std::to_string(attempt.job.value) + "." + std::to_string(attempt.number);
}

}  // namespace

core::SealedRow MakeSigningRow(const ClusterKey& key, const pki::RandomSource& random) {
  std::string plain(kKeyBytes, '\0');
  random(std::as_writable_bytes(std::span(plain)));
  return {kSigningRow, Seal(key, kKind, kSigningRow, plain, random)};
}

Result<std::string> OpenSigningRow(const ClusterKey& key, const core::SealedRow& row) {
  Result<std::string> plain = Unseal(key, kKind, kSigningRow, row.bytes);
  if (!plain.ok() || plain->size() == kKeyBytes) return plain;
  return Status(StatusCode::kDataLoss, "the sealed row 'signing' holds no key").WithReason("TORN_ROW");
}

OpaqueToken JobTokenOf(std::string_view signing_key, core::AttemptId attempt) {
  const std::string of = NameOf(attempt);
  OpaqueToken token;
  token.id = Hmac(signing_key, "job-token-id\n" + of).substr(0, kTokenIdDigits);
  token.secret = Hmac(signing_key, "job-token\n" + token.id + "\n" + of);
  return token;
}

std::string AttemptSecretOf(std::string_view signing_key, core::AttemptId attempt) {
  return Hmac(signing_key, "attempt-secret\n" + NameOf(attempt));
}

std::string LaunchReceiptOf(const ClusterKey& key, std::string_view cluster, std::string_view node, core::TaskId task) {
  const std::string_view bytes(reinterpret_cast<const char*>(key.bytes().data()), key.bytes().size());
  // Neither a cluster's id nor a node's name has a newline.
  return Hmac(Hmac(bytes, "launch-receipts"), std::string(cluster) + "\n" + std::string(node) + "\n" +
                                                  NameOf(task.attempt) + "." + std::to_string(task.index));
}

bool IsLaunchReceipt(const ClusterKey& key, std::string_view cluster, std::string_view node, core::TaskId task,
                     std::string_view receipt) {
  const std::string right = LaunchReceiptOf(key, cluster, node, task);
  return receipt.size() == right.size() && CRYPTO_memcmp(receipt.data(), right.data(), right.size()) == 0;
}

}  // namespace glim::identity
