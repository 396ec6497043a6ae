// A user's or job's token, and an invitation: glim_ID_SECRET, 16 and 64 hexadecimal digits. The ID names the row, the
// secret (256 random bits) is with its owner alone; the store has its hash. Stateless, any thread.
#pragma once

#include <string>
#include <string_view>

#include "sdk/base/result.h"

namespace glim {

inline constexpr std::size_t kTokenIdDigits = 16;
inline constexpr std::size_t kTokenSecretDigits = 64;
inline constexpr std::size_t kTokenHashDigits = 64;
inline constexpr std::size_t kTokenTextBytes = 5 + kTokenIdDigits + 1 + kTokenSecretDigits;

struct OpaqueToken {
  std::string id, secret;
  // "glim_ID_SECRET". Never logged.
  std::string Text() const { return "glim_" + id + "_" + secret; }
};

// Like no other.
OpaqueToken MakeToken();

// Exactly what Text made; white space is the caller's to cut. UNAUTHENTICATED (BAD_TOKEN); it is not
// quoted.
Result<OpaqueToken> ParseToken(std::string_view text);

// SHA-256 of the secret's text, 64 lower-case hexadecimal digits. A secret of 256 random bits needs no salt.
std::string HashOf(std::string_view secret);

// Whether two hashes are the same, in a time that tells nothing of where they differ. Two empty ones are not.
bool SameHash(std::string_view a, std::string_view b);

}  // namespace glim
