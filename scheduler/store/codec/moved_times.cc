#include "scheduler/store/codec/moved_times.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "scheduler/store/codec/identity_fields.h"
#include "scheduler/store/codec/row_fields.h"

namespace glim::store {
namespace {

constexpr std::array<std::string_view, 11> kPlanned = {
    "agree_by_ms",   "again_at_ms", "begins_at_ms",    "certificate_expires_at_ms",
    "deadline_ms",   "ends_at_ms",  "expires_at_ms",   "invite_expires_at_ms",
    "not_before_ms", "until_ms",    "suspect_until_ms"};

// Walks a row's fields, as the reader and the writer do.
class TimeMover {
 public:
  static constexpr bool kWrites = false;

  TimeMover(TimePoint now, Duration ahead) : now_(now), ahead_(ahead) {}

  template <typename T>
  void Field(std::string_view key, T& value) {
    key_ = key;
    Move(value);
  }
  template <typename T>
  void Required(std::string_view key, T& value) {
    Field(key, value);
  }
  template <typename T>
  void Sparse(std::string_view key, T& value, const T& /*unset*/ = T{}) {
    Field(key, value);
  }
  void Hex(std::string_view /*key*/, std::string& /*bytes*/) {}

 private:
  void Move(TimePoint& value) {
    const bool planned = std::ranges::find(kPlanned, key_) != kPlanned.end();
    if (value > (planned ? now_ + ahead_ : now_)) value = value - ahead_;
  }
  template <typename T>
  void Move(std::vector<T>& values) {
    const std::string_view key = key_;
    for (auto& value : values) Field(key, value);
  }
  template <typename T>
  void Move(std::optional<T>& value) {
    if (value) Move(*value);
  }
  template <typename T>
  void Move(T& value) {
    if constexpr (requires(TimeMover & io) { Fields(io, value); }) Fields(*this, value);
  }

  const TimePoint now_;
  const Duration ahead_;
  std::string_view key_;
};

template <typename Row>
void Add(std::vector<core::Mutation>* moved, const Row& row, TimePoint now, Duration ahead) {
  Row other = row;
  TimeMover mover(now, ahead);
  Fields(mover, other);
  if constexpr (std::is_same_v<Row, core::Share>) {
    if (other.hour > now.ms / Hours(1).ms) other.hour -= ahead.ms / Hours(1).ms;
  }
  if (!(other == row)) moved->push_back(std::make_shared<const Row>(std::move(other)));
}

void AddIdentity(std::vector<core::Mutation>* moved, const core::IdentityRow& row, TimePoint now, Duration ahead) {
  core::IdentityRow other = row;
  TimeMover mover(now, ahead);
  std::visit([&](auto& of_kind) { Fields(mover, of_kind); }, other);
  if (!(other == row)) moved->push_back(core::IdentityChange{std::move(other)});
}

}  // namespace

std::vector<core::Mutation> MovedBack(const core::ClusterState& rows, TimePoint now, Duration ahead) {
  std::vector<core::Mutation> moved;
  const core::Tables& tables = rows.tables();
  core::EachTable(tables, [&](const auto& table) {
    table.ForEach([&](const auto& /*key*/, const auto& row) { Add(&moved, row, now, ahead); });
  });
  for (core::IdentityRow& row : tables.identity->Rows()) AddIdentity(&moved, std::move(row), now, ahead);
  return moved;
}

}  // namespace glim::store
