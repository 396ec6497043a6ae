// Decimal numbers as text, without a locale. Pure.
#pragma once

#include <string>

namespace glim {

// The shortest text that is read as the same number: "41.66636900117737", "576", "1e+30".
std::string NumberText(double number);

// Rounded to so many digits: "41.6664" of six.
std::string NumberText(double number, int digits);

}  // namespace glim
