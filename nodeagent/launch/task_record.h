// How far the agent has got with a task, written down so that its next life goes on from there: record.json.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::nodeagent {

struct TaskRecord {
  std::uint32_t signalled_agreement = 0;  // the newest agreement whose signal was sent (written before it is sent)
  bool terminated = false;                // a stop began
  TimePoint kill_at;                      // on the boot clock
};

std::string ToJson(const TaskRecord& record);
Result<TaskRecord> ParseTaskRecord(const std::string& text);

}  // namespace glim::nodeagent
