// What a fuzz target says when a promise is broken: the run stops there, and libFuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace glim::fuzz {

inline void Holds(bool promise, std::string_view what, std::string_view value = "") {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(value.size()), value.data());
  std::abort();
}

}  // namespace glim::fuzz
