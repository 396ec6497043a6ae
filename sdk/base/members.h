// How many members an aggregate has, so that a list of its members can be held against it: one that was forgotten does
// not compile, or fails a test, in place of being lost.
#pragma once

#include <cstddef>
#include <optional>

namespace glim {
namespace members_detail {

struct Anything {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor): it stands for a member of any type
};
// An optional takes Anything in two ways, and so in none.
struct AnyOptional {
  template <typename T>
  operator std::optional<T>() const;  // NOLINT(google-explicit-constructor)
};

template <typename T, typename... Members>
consteval std::size_t Count() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return Count<T, Members..., Anything>();
  } else if constexpr (requires { T{Members{}..., AnyOptional{}}; }) {
    return Count<T, Members..., AnyOptional>();
  } else {
    return sizeof...(Members);
  }
}

}  // namespace members_detail

// Of an aggregate without base classes and arrays; a nested aggregate counts as one.
template <typename T>
consteval std::size_t MembersOf() {
  return members_detail::Count<T>();
}

}  // namespace glim
