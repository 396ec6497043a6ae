#include "scheduler/policy/import_commands.h"

#include <algorithm>
#include <utility>

namespace glim::server {
namespace {

constexpr std::size_t kCommandsNamedMax = 8;

}  // namespace

RowsByKey ByKey(std::vector<core::AccountChange> rows) {
  RowsByKey by_key;
  for (core::AccountChange& change : rows) {
    core::RowKey key = core::KeyOf(change.row);
    by_key.insert_or_assign(std::move(key), std::move(change));
  }
  return by_key;
}

std::string CommandsFor(const RowsByKey& before, const RowsByKey& after) {
  std::vector<std::string> commands;
  for (const auto& [key, change] : after) {
    const auto old = before.find(key);
    if (old == before.end() || !(old->second == change)) commands.push_back(core::CommandFor(change));
  }
  for (const auto& [key, change] : before) {
    if (!after.contains(key)) commands.push_back(core::CommandFor({change.row, true}));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(commands.size(), kCommandsNamedMax); ++i) {
    text += (i > 0 ? "; " : "") + commands[i];
  }
  if (commands.size() > kCommandsNamedMax) {
    text += "; and " + std::to_string(commands.size() - kCommandsNamedMax) + " more";
  }
  return text;
}

}  // namespace glim::server
