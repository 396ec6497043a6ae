// What the ranks of one attempt share and nobody else has: by it they know each other (proof.h). In a job of Glim the
// scheduler makes it and each task finds it in a file (GLIM_ATTEMPT_SECRET_FILE).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "sdk/base/result.h"

namespace glim::hfreduce {

inline constexpr std::size_t kMacBytes = 32;
using Mac = std::array<std::byte, kMacBytes>;

// A value that may be empty: then nobody proves anything. Any thread; copies share the bytes, which are cleared when
// the last one goes. Never logged.
class Secret {
 public:
  Secret() = default;
  // 64 hexadecimal digits and at most a newline. `attempt` ("12.3") is of the secret: with another one it is another.
  // INVALID_ARGUMENT: it is something else; no message quotes it.
  static Result<Secret> Parse(std::string_view text, std::string_view attempt);
  // Of a file that is this user's alone. Beside that: NOT_FOUND, PERMISSION_DENIED. Messages name the file.
  static Result<Secret> Read(const std::string& path, std::string_view attempt);

  explicit operator bool() const { return key_ != nullptr; }
  // HMAC-SHA-256 under a key that is made of the secret and the attempt. There is a secret.
  Mac Sign(std::string_view text) const;

 private:
  std::shared_ptr<const Mac> key_;
};

// In constant time.
bool SameMac(const Mac& a, const Mac& b);

}  // namespace glim::hfreduce
