// All that is so now, by who found it, and what has changed since it was told. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nodeagent/health/finding.h"

namespace glim::nodeagent::health {

// As many as the scheduler keeps of a node.
inline constexpr std::size_t kConditionsMax = 32;

class Conditions {
 public:
  // All that `source` finds now. Those of the same check and device are one, whoever finds it.
  void Set(const std::string& source, std::vector<Finding> found);

  struct Changes {
    std::vector<Finding> now;  // new, or with another value
    std::vector<Finding> over;
  };
  // Since the last call.
  Changes TakeChanges();

 private:
  using Key = std::pair<std::string, std::string>;  // check and device

  std::map<std::string, std::vector<Finding>> found_;
  std::map<Key, Finding> told_;
};

}  // namespace glim::nodeagent::health
