#include "sdk/snapshot/link_rule.h"

#include <algorithm>

namespace glim::snapshot {

bool LinkStaysInside(std::string_view path, std::string_view target) {
  if (target.empty() || target.front() == '/') return false;
  auto folders_left = std::count(path.begin(), path.end(), '/');
  bool went_down = false;
  while (!target.empty()) {
    const std::size_t slash = target.find('/');
    const std::string_view name = target.substr(0, slash);
    target = slash == std::string_view::npos ? std::string_view{} : target.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    if (name != "..") {
      went_down = true;
    } else if (went_down || folders_left-- == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace glim::snapshot
