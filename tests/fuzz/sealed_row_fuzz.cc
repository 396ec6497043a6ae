// Any bytes as a sealed row: the first byte says whether they lie in the store as they are, where nothing opens that
// was not sealed, or are sealed well and hold anything, as after a fault of ours. An authority comes of neither.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "scheduler/identity/cluster_authority.h"
#include "scheduler/identity/seal.h"
#include "tests/fuzz/holds.h"

namespace glim::identity {
namespace {

using fuzz::Holds;

void Sevens(std::span<std::byte> into) { std::fill(into.begin(), into.end(), std::byte{7}); }

void CheckSealedRow(bool is_sealed, const std::string& bytes) {
  static const ClusterKey key{ClusterKey::Bytes{}};
  const std::string sealed = is_sealed ? Seal(key, "sealed", "ca", bytes, Sevens) : bytes;
  const Result<std::string> plain = Unseal(key, "sealed", "ca", sealed);
  if (is_sealed) Holds(plain.ok() && *plain == bytes, "what was sealed opens");
  if (plain.ok()) {
    Holds(Unseal(key, "sealed", "ca.old", sealed).status().reason() == "TORN_ROW", "for one row alone");
    // The corpus has one row that this key sealed.
    Holds(is_sealed || Seal(key, "sealed", "ca", *plain, Sevens) == sealed, "nothing opens that was not sealed",
          sealed);
  } else {
    const std::string& reason = plain.status().reason();
    Holds(reason == "TORN_ROW" || reason == "OTHER_KEY_FILE", "a refusal's reason", reason);
  }
  const auto authority = ClusterAuthority::Open("c1", key, {"ca", sealed}, std::nullopt, Sevens);
  if (authority.ok()) {
    Holds(is_sealed, "no authority of what was not sealed");
    Holds(authority->Signer().is_authority() && authority->Signer().cluster() == "c1", "it is one");
  } else {
    Holds(authority.status().reason() == "TORN_ROW" || authority.status().reason() == "OTHER_KEY_FILE", "a reason");
    Holds(authority.status().message().find("PRIVATE KEY") == std::string::npos, "no key is quoted");
  }
}

}  // namespace
}  // namespace glim::identity

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  glim::identity::CheckSealedRow(data[0] % 2 == 1, std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
