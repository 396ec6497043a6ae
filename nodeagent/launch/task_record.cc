#include "nodeagent/launch/task_record.h"

#include <nlohmann/json.hpp>

namespace glim::nodeagent {

using nlohmann::json;

std::string ToJson(const TaskRecord& record) {
  return json({{"format", 1},
               {"signalled_agreement", record.signalled_agreement},
               {"terminated", record.terminated},
               {"kill_at_ms", record.kill_at.ms}})
      .dump();
}

Result<TaskRecord> ParseTaskRecord(const std::string& text) {
  try {
    const json value = json::parse(text);
    TaskRecord record;
    record.signalled_agreement = value.at("signalled_agreement").get<std::uint32_t>();
    record.terminated = value.at("terminated").get<bool>();
    record.kill_at.ms = value.at("kill_at_ms").get<std::int64_t>();
    return record;
  } catch (const json::exception& error) {
    return Status(StatusCode::kDataLoss, std::string("record.json: ") + error.what());
  }
}

}  // namespace glim::nodeagent
