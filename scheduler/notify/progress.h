// How far notifications have come, as it is kept in the store. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sdk/base/result.h"

namespace glim::notify {

struct Progress {
  std::uint64_t read = 0;  // the history's entries up to here have been looked at
  // Of targets for which something waits: what was told to them. All others were told everything up to `read`.
  std::map<std::string, std::uint64_t> told{};

  // From where on the history has to be read again.
  std::uint64_t ReadAgainFrom() const;
  bool WasTold(const std::string& target, std::uint64_t seq) const;
  friend bool operator==(const Progress&, const Progress&) = default;
};

std::string WriteProgress(const Progress& progress);
// DATA_LOSS: it is something else.
Result<Progress> ReadProgress(const std::string& text);

}  // namespace glim::notify
