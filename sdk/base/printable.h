// Text from outside for logs and messages: bounded, and without anything that could forge a line.
#pragma once

#include <string>

namespace glim::server {

inline std::string Printable(const std::string& text) {
  std::string out = text.substr(0, 64);
  for (char& c : out) {
    if (c < 0x20 || c > 0x7e || c == '"') c = '?';
  }
  return out;
}

}  // namespace glim::server
