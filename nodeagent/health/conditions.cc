#include "nodeagent/health/conditions.h"

namespace glim::nodeagent::health {

void Conditions::Set(const std::string& source, std::vector<Finding> found) { found_[source] = std::move(found); }

Conditions::Changes Conditions::TakeChanges() {
  std::map<Key, Finding> now;
  for (const auto& [source, findings] : found_) {
    for (const Finding& finding : findings) {
      if (now.size() < kConditionsMax) now.try_emplace({finding.check, finding.device}, finding);
    }
  }
  Changes changes;
  for (const auto& [key, finding] : now) {
    const auto told = told_.find(key);
    if (told == told_.end() || told->second != finding) changes.now.push_back(finding);
  }
  for (const auto& [key, finding] : told_) {
    if (!now.contains(key)) changes.over.push_back(finding);
  }
  told_ = std::move(now);
  return changes;
}

}  // namespace glim::nodeagent::health
