// The head of an answer as bytes: what each answer says, for browsers above all. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "scheduler/gateway/http_types.h"

namespace glim::gateway {

struct HeadRules {
  bool secure = false;
  bool keep_alive = false;
  bool chunked = false;  // else there is a length, or no body at all
};

// `length`: of the body, also where HEAD leaves it out; none: there is no body, or it is a stream.
std::string HeadOf(const HttpAnswer& answer, std::optional<std::size_t> length, const HeadRules& rules);

}  // namespace glim::gateway
