// UTF-8 as RFC 3629 has it: no overlong form, no surrogate, nothing above U+10FFFF.
#pragma once

#include <string>
#include <string_view>

namespace glim::checkpoint {

bool IsUtf8(std::string_view text);

// Of valid UTF-8: U+0000 to U+001F, and U+007F to U+009F.
bool HasControlCharacter(std::string_view text);

// For messages: at most 64 bytes, with '?' for what is not printable ASCII.
std::string Printable(std::string_view text);

}  // namespace glim::checkpoint
