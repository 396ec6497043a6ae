// Where random bytes come from: the kernel in a daemon (FillRandomly of sdk/io), a counter in a test.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace glim::pki {

// Fills all of it. Called by the thread that calls whoever has it.
using RandomSource = std::function<void(std::span<std::byte>)>;

}  // namespace glim::pki
