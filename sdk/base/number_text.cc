#include "sdk/base/number_text.h"

#include <array>
#include <charconv>

namespace glim {
namespace {

constexpr int kDigitsMax = 32;  // of any double in its shortest form

template <typename... Form>
std::string Text(double number, Form... form) {
  std::array<char, kDigitsMax> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, form...).ptr};
}

}  // namespace

std::string NumberText(double number) { return Text(number); }

std::string NumberText(double number, int digits) { return Text(number, std::chars_format::general, digits); }

}  // namespace glim
