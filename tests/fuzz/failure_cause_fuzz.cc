// Any bytes as a failed rank's output: a short line of valid UTF-8 without control characters.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "nodeagent/task/failure_cause.h"
#include "tests/fuzz/holds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using glim::fuzz::Holds;
  const std::string cause = glim::nodeagent::FailureCause({reinterpret_cast<const char*>(data), size});
  Holds(cause.size() <= glim::nodeagent::kCauseBytesMax, "a cause is short", cause);
  for (const char c : cause) Holds(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "no control characters", cause);
  // Strict about UTF-8: throws at what is none, and that ends the run.
  (void)nlohmann::json(cause).dump();
  return 0;
}
