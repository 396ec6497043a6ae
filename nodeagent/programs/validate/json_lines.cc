#include "nodeagent/programs/validate/json_lines.h"

#include <charconv>
#include <cstdio>
#include <sstream>

#include <nlohmann/json.hpp>

#include "nodeagent/validate/rules.h"

namespace glim::validate {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBaselineVersion = 1;

Json OrNull(double value) { return value > 0 ? Json(value) : Json(nullptr); }

}  // namespace

std::string JsonLineOf(const Verdict& verdict) {
  const Reading& reading = verdict.reading;
  const Json line = {{"part", reading.part},           {"what", reading.what}, {"device", reading.device},
                     {"value", reading.value},         {"unit", verdict.unit}, {"expected", OrNull(verdict.expected)},
                     {"ratio", OrNull(verdict.ratio)}, {"ok", verdict.ok},     {"text", verdict.text}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<Reading> ReadingsFrom(const std::string& lines) {
  std::vector<Reading> readings;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    const Json one = Json::parse(line, nullptr, false);
    if (!one.is_object() || !one.contains("part") || !one.contains("what") || !one.contains("value")) continue;
    if (!one["part"].is_string() || !one["what"].is_string() || !one["value"].is_number()) continue;
    Reading reading{.part = one["part"],
                    .what = one["what"],
                    .device = one.value("device", ""),
                    .value = one["value"],
                    .wrong = {},
                    .note = {}};
    if (!one.value("ok", true) && !one.value("ratio", Json()).is_number()) reading.wrong = one.value("text", "wrong");
    readings.push_back(std::move(reading));
  }
  return readings;
}

std::string BaselineText(const Baseline& baseline) {
  std::string text = "{\"version\": 1, \"expected\": [";
  const char* before = "\n  ";
  for (const auto& [kind, expected] : baseline) {
    const Rule* const rule = RuleOf(kind.first, kind.second);
    const Json one = {{"part", kind.first},
                      {"what", kind.second},
                      {"value", expected.value},
                      {"unit", rule == nullptr ? "" : std::string(rule->unit)},
                      {"nodes", expected.nodes}};
    text += before + one.dump();
    before = ",\n  ";
  }
  return text + "\n]}\n";
}

Result<Baseline> ParseBaseline(const std::string& text) {
  const Status bad = Status(StatusCode::kInvalidArgument, "is no baseline")
                         .WithFix("make one: glim-validate --merge FILES, each with the --json lines of a node");
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("version") || document["version"] != kBaselineVersion ||
      !document.contains("expected") || !document["expected"].is_array()) {
    return bad;
  }
  Baseline baseline;
  for (const Json& one : document["expected"]) {
    const bool whole = one.is_object() && one.contains("part") && one["part"].is_string() && one.contains("what") &&
                       one["what"].is_string() && one.contains("value") && one["value"].is_number();
    if (!whole || one["value"] <= 0) return bad;
    const bool counted = one.contains("nodes") && one["nodes"].is_number_unsigned();
    baseline[{one["part"], one["what"]}] = {one["value"], counted ? one["nodes"].get<std::uint32_t>() : 0};
  }
  return baseline;
}

std::string PolicyRowText(const Baseline& baseline) {
  std::string text;
  for (const auto& [kind, expected] : baseline) {
    const Rule* const rule = RuleOf(kind.first, kind.second);
    if (rule == nullptr || rule->ratio_min == 0) continue;
    char number[32];
    std::snprintf(number, sizeof number, "%.6g", expected.value);
    text += (text.empty() ? "" : ", ") + kind.first + "." + kind.second + ": " + number;
  }
  return "{expected: {" + text + "}}\n";
}

Result<Baseline> ParseExpected(const std::vector<std::string>& words) {
  Baseline baseline;
  for (const std::string& word : words) {
    const std::size_t point = word.find('.'), equals = word.find('=');
    const bool whole = point != std::string::npos && equals != std::string::npos && point < equals;
    const std::string part = whole ? word.substr(0, point) : "";
    const std::string what = whole ? word.substr(point + 1, equals - point - 1) : "";
    double value = 0;
    const char* const end = word.data() + word.size();
    const bool number = whole && std::from_chars(word.data() + equals + 1, end, value).ptr == end && value > 0;
    if (!number || RuleOf(part, what) == nullptr) {
      return Status(StatusCode::kInvalidArgument, "--expect '" + word + "' is not what it has to be")
          .WithFix("write PART.WHAT=NUMBER, for instance cpu.piece=41.7");
    }
    baseline[{part, what}] = {value, 0};
  }
  return baseline;
}

}  // namespace glim::validate
