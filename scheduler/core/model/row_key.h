// What tells rows that have their keys in themselves apart: ("quota", "user/kim/*/high"), ("link", "A/B"), ("secret",
// "kim/wandb"). The kind is a word that people read in messages. Names of users and zones have no slash.
#pragma once

#include <compare>
#include <string>

namespace glim::core {

struct RowKey {
  std::string kind;
  std::string name;
  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};

}  // namespace glim::core
