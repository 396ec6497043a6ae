// How a request's word is refused that is none of an enumeration's. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "sdk/base/printable.h"
#include "sdk/base/status.h"
#include "sdk/base/suggest.h"

namespace glim::server {

// The refusal of a word that is none of an enumeration's, with those that would do.
template <core::HasWords E>
Status UnknownWord(const char* field, const std::string& word, const char* what, std::optional<E> left_out = {}) {
  std::vector<std::string_view> known;
  std::string all;
  for (const core::EnumWord<E>& one : core::kEnumWords<E>) {
    if (one.value == left_out) continue;
    known.push_back(one.word);
    all += (all.empty() ? "" : ", ") + std::string(one.word);
  }
  const std::string near = Nearest(word, known);
  return InvalidArgument(field, "'" + Printable(word) + "' is no " + what,
                         (near.empty() ? "" : "did you mean '" + near + "'? ") + "use any of: " + all);
}

}  // namespace glim::server
