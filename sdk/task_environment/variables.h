// The names of the variables that a task finds in its environment, and who sets them (variables-inl.h). Constants
// alone: including this costs a program's start nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glim {

enum class TaskVariable {
#define GLIM_TASK_VARIABLE(id, name, set_by, when, form, read_by, meaning) id,
#include "sdk/task_environment/variables-inl.h"
#undef GLIM_TASK_VARIABLE
};

enum class VariableSetter { kScheduler, kAgent, kEither, kShim, kDefault };
enum class VariablePresence { kAlways, kPerGpu, kPerNode, kSometimes };
enum class VariableForm {
  kText,
  kCount,
  kStep,
  kFlag,
  kPath,
  kPort,
  kHost,
  kAddress,
  kTexts,
  kCounts,
  kHosts,
  kPeer,
  kPeers,
};

struct TaskVariableInfo {
  const char* name;
  VariableSetter set_by;
  VariablePresence when;
  VariableForm form;
  std::string_view read_by;  // "python", "hfreduce", "glim-task", "agent"; blanks in between
  std::string_view meaning;
};

// In the order of TaskVariable.
inline constexpr TaskVariableInfo kTaskVariables[] = {
#define GLIM_TASK_VARIABLE(id, name, set_by, when, form, read_by, meaning) \
  {name, VariableSetter::k##set_by, VariablePresence::k##when, VariableForm::k##form, read_by, meaning},
#include "sdk/task_environment/variables-inl.h"
#undef GLIM_TASK_VARIABLE
};

constexpr const char* NameOf(TaskVariable variable) { return kTaskVariables[static_cast<std::size_t>(variable)].name; }

// As a program is started with it: NAME=VALUE.
inline std::string AssignmentOf(TaskVariable variable, const std::string& value) {
  return std::string(NameOf(variable)) + "=" + value;
}

// Whether a job's own `env` cannot set it: every name with GLIM_ before it, and what Glim sets for torch.
constexpr bool IsReservedVariable(std::string_view name) {
  if (name.starts_with("GLIM_")) return true;
  for (const TaskVariableInfo& info : kTaskVariables) {
    if (name == info.name) return info.set_by != VariableSetter::kDefault;
  }
  return false;
}

}  // namespace glim
