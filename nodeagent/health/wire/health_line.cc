#include "nodeagent/health/wire/health_line.h"

#include <nlohmann/json.hpp>

namespace glim::nodeagent::health {
namespace {

using nlohmann::json;

constexpr std::size_t kBootBytesMax = 64;

constexpr std::pair<const char*, HealthLine::Kind> kKinds[] = {{"event", HealthLine::Kind::kEvent},
                                                               {"condition", HealthLine::Kind::kCondition},
                                                               {"condition_over", HealthLine::Kind::kConditionOver},
                                                               {"gpus", HealthLine::Kind::kGpus},
                                                               {"alive", HealthLine::Kind::kAlive}};

// Throws what nlohmann::json throws, or std::out_of_range.
std::string Word(const json& object, const char* key, std::size_t bytes_max) {
  std::string text = object.at(key).get<std::string>();
  if (text.size() > bytes_max) throw std::out_of_range(key);
  return text;
}

std::vector<GpuUse> GpusIn(const json& list) {
  std::vector<GpuUse> gpus;
  if (!list.is_array() || list.size() > kGpusMax) throw std::out_of_range("gpus");
  for (const json& gpu : list) gpus.push_back({Word(gpu, "pci", kDeviceBytesMax), gpu.at("busy").get<bool>()});
  return gpus;
}

json ToJson(const std::vector<GpuUse>& gpus) {
  json list = json::array();
  for (const GpuUse& gpu : gpus) list.push_back({{"pci", gpu.pci}, {"busy", gpu.busy}});
  return list;
}

HealthLine Parse(const json& object) {
  HealthLine line;
  const std::string kind = Word(object, "kind", kCheckBytesMax);
  bool known = false;
  for (const auto& [word, value] : kKinds) {
    if (kind != word) continue;
    line.kind = value;
    known = true;
  }
  if (!known) throw std::out_of_range(kind);
  line.boot = Word(object, "boot", kBootBytesMax);
  if (line.kind == HealthLine::Kind::kAlive) {
    line.complete = object.at("complete").get<bool>();
    return line;
  }
  if (line.kind == HealthLine::Kind::kGpus) {
    line.gpus = GpusIn(object.at("gpus"));
    return line;
  }
  Finding& f = line.finding;
  f.check = Word(object, "check", kCheckBytesMax);
  f.device = Word(object, "device", kDeviceBytesMax);
  f.code = object.at("code").get<std::int64_t>();
  f.text = Word(object, "text", kTextBytesMax);
  f.value = object.at("value").get<std::int64_t>();
  f.expected = object.at("expected").get<std::int64_t>();
  f.unit = Word(object, "unit", kUnitBytesMax);
  f.at_ms = object.at("at_ms").get<std::int64_t>();
  f.pid = object.at("pid").get<std::int32_t>();
  line.seq = object.at("seq").get<std::uint64_t>();
  if (f.check.empty()) throw std::out_of_range("check");
  return line;
}

const char* WordOf(HealthLine::Kind kind) {
  for (const auto& [word, value] : kKinds) {
    if (value == kind) return word;
  }
  return "";
}

}  // namespace

std::string ToText(const HealthLine& line) {
  json object = {{"kind", WordOf(line.kind)}, {"boot", line.boot}};
  if (line.kind == HealthLine::Kind::kAlive) {
    object["complete"] = line.complete;
  } else if (line.kind == HealthLine::Kind::kGpus) {
    object["gpus"] = ToJson(line.gpus);
  } else {
    const Finding& f = line.finding;
    object.update({{"check", f.check},
                   {"device", f.device},
                   {"code", f.code},
                   {"text", f.text},
                   {"value", f.value},
                   {"expected", f.expected},
                   {"unit", f.unit},
                   {"at_ms", f.at_ms},
                   {"pid", f.pid},
                   {"seq", line.seq}});
  }
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<HealthLine> ParseHealthLine(std::string_view text) {
  if (text.size() > kLineBytesMax) return std::nullopt;
  try {
    return Parse(json::parse(text));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace glim::nodeagent::health
