#include "scheduler/core/model/spec_limits.h"

#include <algorithm>
#include <limits>

#include "sdk/base/check.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/size_text.h"

namespace glim::core {
namespace {

// As a spec would have it: "90s", "16MiB", "0.5".
std::string Written(std::int64_t value, AmountUnit unit) {
  // The least number of all has no opposite; nobody misses its last digit.
  if (value < 0) return "-" + Written(-std::max(value, -std::numeric_limits<std::int64_t>::max()), unit);
  switch (unit) {
    case AmountUnit::kCount: break;
    case AmountUnit::kTime: return WriteDuration(Milliseconds(value));
    case AmountUnit::kBytes: return WriteSize(value);
    case AmountUnit::kMilliCpus: {
      std::string text = std::to_string(value / 1000);
      if (value % 1000 == 0) return text;
      text += "." + std::to_string(1000 + value % 1000).substr(1);
      while (text.back() == '0') text.pop_back();
      return text;
    }
  }
  return std::to_string(value);
}

}  // namespace

Status CheckAmount(std::string_view field, std::int64_t value) {
  const auto* const range = std::find_if(std::begin(kAmountRanges), std::end(kAmountRanges),
                                         [field](const AmountRange& r) { return r.field == field; });
  GLIM_CHECK(range != std::end(kAmountRanges), "an amount of a spec has a range");
  if (value >= range->low && value <= range->high) return Status::Ok();
  return InvalidArgument(std::string(field), Written(value, range->unit) + " is out of range",
                         "use " + Written(range->low, range->unit) + " to " + Written(range->high, range->unit));
}

bool IsPlainAbsolutePath(std::string_view path) {
  const std::string closed = std::string(path) + "/";
  return path.size() > 1 && path.front() == '/' && path.back() != '/' && path.find("//") == std::string_view::npos &&
         closed.find("/../") == std::string::npos && closed.find("/./") == std::string::npos;
}

}  // namespace glim::core
