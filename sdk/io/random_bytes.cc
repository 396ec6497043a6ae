#include "sdk/io/random_bytes.h"

#include <sys/random.h>

#include <vector>

#include "sdk/base/check.h"
#include "sdk/base/hex.h"

namespace glim {

void FillRandomly(std::span<std::byte> into) {
  constexpr std::size_t kWholeBytesMax = 256;  // so many come at once, whatever signal arrives
  GLIM_CHECK(into.size() <= kWholeBytesMax, "at most 256 random bytes at once");
  GLIM_CHECK(::getrandom(into.data(), into.size(), 0) == static_cast<ssize_t>(into.size()), "getrandom");
}

std::uint64_t RandomNumber() {
  std::uint64_t number = 0;
  FillRandomly(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

std::string RandomHex(std::size_t bytes) {
  std::vector<std::byte> random(bytes);
  FillRandomly(random);
  return HexText(random);
}

}  // namespace glim
