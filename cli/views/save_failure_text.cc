#include "cli/views/save_failure_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/text/text.h"

namespace glim::cli {

std::string SaveFailureText(const glim::v1::Attempt& attempt, int indent) {
  if (!attempt.has_save_failure()) return "";
  const glim::v1::SaveFailure& failure = attempt.save_failure();
  const std::int64_t good = std::max(attempt.durable_step(), attempt.base_step());
  const std::string which = failure.step() < 0 ? "" : fmt::format("step {}, ", failure.step());
  const std::string tries = fmt::format("{} {}", failure.count(), failure.count() == 1 ? "try" : "tries");
  const std::string since = good < 0 ? ", none was made" : fmt::format(" since step {} was saved", good);
  return fmt::format("{:{}}its newest save failed: {}{}{}{}{}\n", "", indent, which, tries, since,
                     failure.why().empty() ? "" : ": ", Escaped(failure.why()));
}

}  // namespace glim::cli
