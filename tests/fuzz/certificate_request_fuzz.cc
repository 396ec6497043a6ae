// Any bytes as a certificate signing request: a key on P-256 that a certificate can be made for, or a refusal that can
// be printed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sdk/base/utf8.h"
#include "sdk/pki/certificate_request.h"
#include "sdk/pki/sign.h"
#include "tests/fuzz/holds.h"

namespace glim::pki {
namespace {

using fuzz::Holds;

void CheckRequest(std::string_view der) {
  static const Lifetime ages{TimePoint{0}, TimePoint{4'000'000'000'000}};
  static const Authority authority = MakeAuthority("c1", SerialTail{}, ages).value();
  const Result<PublicKey> key = ReadRequest(der);
  if (!key.ok()) {
    Holds(key.status().code() == StatusCode::kInvalidArgument && key.status().reason() == "BAD_CSR",
          "a refusal's code");
    Holds(IsUtf8(key.status().message()) && !HasControl(key.status().message()), "a refusal is printable",
          key.status().message());
    return;
  }
  Holds(der.size() <= kRequestBytesMax, "the bound");
  const Result<Certificate> made = SignNode(authority, "c1", "n1", *key, SerialTail{}, ages);
  Holds(made.ok() && made->IsFor(*key) && made->node() == "n1", "a certificate can be made");
}

}  // namespace
}  // namespace glim::pki

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  glim::pki::CheckRequest({reinterpret_cast<const char*>(data), size});
  return 0;
}
