#include "scheduler/store/codec/row_kinds.h"

#include <charconv>

#include <fmt/format.h>

#include "scheduler/store/codec/row_codec.h"

namespace glim::store {
namespace {

// Takes a number, and `joint` after it, from the front of the text; '\0': it ends there.
template <typename Number>
bool Take(std::string_view& text, Number& number, char joint) {
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return false;
  if (joint == '\0') return behind == end;
  if (behind == end || *behind != joint) return false;
  text.remove_prefix(static_cast<std::size_t>(behind - text.data()) + 1);
  return true;
}

}  // namespace

std::string KeyText(core::JobId id) { return std::to_string(id.value); }
std::string KeyText(core::NodeId id) { return std::to_string(id.value); }
std::string KeyText(core::AttemptId id) { return core::ToString(id); }
std::string KeyText(const core::TaskId& id) { return fmt::format("{}.{}", core::ToString(id.attempt), id.index); }
std::string KeyText(const core::ShareId& id) { return CleanText(id.team + "/" + id.user); }
std::string KeyText(const core::LifeTableId& id) {
  return CleanText(fmt::format("{}/{}/{}/{}", id.level, id.nodes, id.limit_minutes, id.user));
}
std::string KeyText(const core::BudgetId& id) { return KeyText(id.team); }
std::string KeyText(const std::string& name) { return CleanText(name); }

bool ReadKey(std::string_view text, core::JobId& id) { return Take(text, id.value, '\0'); }
bool ReadKey(std::string_view text, core::NodeId& id) { return Take(text, id.value, '\0'); }

bool ReadKey(std::string_view text, core::AttemptId& id) {
  return Take(text, id.job.value, '.') && Take(text, id.number, '\0');
}

bool ReadKey(std::string_view text, core::TaskId& id) {
  return Take(text, id.attempt.job.value, '.') && Take(text, id.attempt.number, '.') && Take(text, id.index, '\0');
}

bool ReadKey(std::string_view text, core::ShareId& id) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  id = {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
  return true;
}

bool ReadKey(std::string_view text, core::LifeTableId& id) {
  if (!Take(text, id.level, '/') || !Take(text, id.nodes, '/') || !Take(text, id.limit_minutes, '/')) return false;
  id.user = text;
  return true;
}

bool ReadKey(std::string_view text, core::BudgetId& id) { return ReadKey(text, id.team); }

bool ReadKey(std::string_view text, std::string& name) {
  name = text;
  return true;
}

}  // namespace glim::store
