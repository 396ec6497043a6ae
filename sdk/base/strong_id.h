// StrongId<Tag, Rep>: an integer that cannot be mistaken for another kind of integer. 0 means "none".
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace glim {

template <typename Tag, typename Rep = std::uint64_t>
struct StrongId {
  using rep = Rep;
  Rep value = 0;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  constexpr explicit operator bool() const { return value != 0; }
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

}  // namespace glim

template <typename Tag, typename Rep>
struct std::hash<glim::StrongId<Tag, Rep>> {
  std::size_t operator()(const glim::StrongId<Tag, Rep>& id) const noexcept { return std::hash<Rep>{}(id.value); }
};
