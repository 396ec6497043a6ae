// Random bytes of the kernel's, fit for keys and for names like no other. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace glim {

// Fills `into`, at most 256 bytes. A kernel without random bytes ends the program (CHECK).
void FillRandomly(std::span<std::byte> into);

// For numbers that nobody else on this machine or another has.
std::uint64_t RandomNumber();

// `bytes` (at most 256) random ones, two hexadecimal digits each.
std::string RandomHex(std::size_t bytes);

}  // namespace glim
