// libfmt's functions for a program that is linked statically. Debian has libfmt as a shared library alone, which would
// bring the shared standard library along. fmt's headers can define the same functions inline; what is named here
// stays.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace glim::cli {

[[gnu::used]] static std::string (*const kVformat)(fmt::string_view, fmt::format_args) = &fmt::vformat;

}  // namespace glim::cli
