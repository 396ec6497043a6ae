// Reads variables of a task's environment, each checked. Errors are INVALID_ARGUMENT and name the variable.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/task_environment/variables.h"

namespace glim {

// A variable's value, or none.
using VariableLookup = std::function<std::optional<std::string>(const char* name)>;

class VariableReader {
 public:
  // `lookup` outlives the reader.
  explicit VariableReader(const VariableLookup& lookup) : lookup_(lookup) {}

  bool Has(TaskVariable variable) const { return lookup_(NameOf(variable)).has_value(); }
  std::string OrEmpty(TaskVariable variable) const { return lookup_(NameOf(variable)).value_or(""); }
  // Set, and not empty.
  Result<std::string> Text(TaskVariable variable) const;
  Result<std::uint32_t> Number(TaskVariable variable, std::uint32_t least, std::uint32_t most) const;
  // One element of the variable's list.
  static Result<std::uint32_t> ParseNumber(TaskVariable variable, const std::string& text, std::uint32_t least,
                                           std::uint32_t most);

 private:
  const VariableLookup& lookup_;
};

Status WrongVariable(TaskVariable variable, const std::string& what, const std::string& fix);

// The elements of a list. An empty text is one empty element: the only node's zone may have no name.
std::vector<std::string> SplitVariable(std::string_view text);

}  // namespace glim
