#include "nodeagent/health/wire/health_state.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent::health {
namespace {

using nlohmann::json;

constexpr std::size_t kStateBytesMax = 4 << 20;

}  // namespace

std::string ToText(const HealthState& state) {
  json object = {{"boot", state.boot}, {"memory", state.memory}, {"events", json::array()}};
  if (state.kernel_seq) object["kernel_seq"] = *state.kernel_seq;
  for (const HealthLine& event : state.events) object["events"].push_back(ToText(event));
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

HealthState ParseHealthState(const std::string& text, const std::string& boot) {
  HealthState nothing;
  nothing.boot = boot;
  try {
    const json object = json::parse(text);
    HealthState state;
    state.boot = object.at("boot").get<std::string>();
    if (state.boot != boot) return nothing;
    if (object.contains("kernel_seq")) state.kernel_seq = object.at("kernel_seq").get<std::uint64_t>();
    state.memory = object.at("memory").get<std::map<std::string, Memory>>();
    for (const json& event : object.at("events")) {
      std::optional<HealthLine> line = ParseHealthLine(event.get<std::string>());
      if (!line || line->kind != HealthLine::Kind::kEvent) return nothing;
      state.events.push_back(std::move(*line));
    }
    if (state.events.size() > kEventsKept) return nothing;
    return state;
  } catch (const std::exception&) {
    return nothing;
  }
}

HealthState ReadHealthState(const std::string& path, const std::string& boot) {
  const Result<std::string> text = ReadFile(path, kStateBytesMax);
  return ParseHealthState(text.ok() ? *text : "", boot);
}

Status WriteHealthState(const std::string& path, const HealthState& state) {
  return WriteFileAtomically(path, ToText(state), Durability::kProcess);
}

}  // namespace glim::nodeagent::health
