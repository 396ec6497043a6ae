#include "scheduler/server/yaml_reader.h"

#include <charconv>
#include <set>
#include <utility>

namespace glim::server {
namespace {

std::string Join(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

Status Refuse(const std::string& path, const std::string& message, std::string fix = "") {
  return Status(StatusCode::kInvalidArgument, path + ": " + message)
      .WithReason("BAD_CONFIG").WithField(path).WithFix(std::move(fix));
}

std::string Known(const YamlFields& fields) {
  std::string text = "known here: ";
  for (const auto& [key, field] : fields) text += (text.back() == ' ' ? "" : ", ") + key;
  return text;
}

}  // namespace

Status ReadYamlMap(const YAML::Node& node, const std::string& path, const YamlFields& fields) {
  if (node.IsNull()) return Status::Ok();
  if (!node.IsMap()) return Refuse(path.empty() ? "the file" : path, "must be a mapping of keys to values");
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "(not a word)";
    const std::string at = Join(path, key);
    const auto field = fields.find(key);
    if (field == fields.end()) return Refuse(at, "unknown key", Known(fields));
    if (!seen.insert(key).second) return Refuse(at, "is given twice", "keep one");
    if (Status s = field->second(pair.second, at); !s.ok()) return s;
  }
  return Status::Ok();
}

YamlField IntoText(std::string* out) {
  return [out](const YAML::Node& value, const std::string& path) {
    if (!value.IsScalar() || value.Scalar().empty()) return Refuse(path, "must be a text");
    *out = value.Scalar();
    return Status::Ok();
  };
}

Result<std::int64_t> ParseYamlNumber(const YAML::Node& value, const std::string& path, std::int64_t low,
                                     std::int64_t high) {
  const std::string range = "use " + std::to_string(low) + " to " + std::to_string(high);
  if (!value.IsScalar()) return Refuse(path, "must be a whole number", range);
  const std::string& text = value.Scalar();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return Refuse(path, "must be a whole number", range);
  if (number < low || number > high) return Refuse(path, text + " is out of range", range);
  return number;
}

Result<Duration> ParseDuration(const std::string& text) {
  static const std::map<std::string, std::int64_t> kUnits = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = error == std::errc() ? kUnits.find(std::string(end, text.data() + text.size())) : kUnits.end();
  if (unit == kUnits.end() || number < 0 || number > 1'000'000'000) {
    return InvalidArgument("", "must be a duration", "write it like 250ms, 10s, 5m, 2h or 30d");
  }
  return Milliseconds(number * unit->second);
}

YamlField IntoDuration(Duration* out, Duration low, Duration high) {
  return [=](const YAML::Node& value, const std::string& path) {
    const auto duration = ParseDuration(value.IsScalar() ? value.Scalar() : "");
    if (!duration.ok()) return Refuse(path, duration.status().message(), duration.status().fix());
    if (*duration < low || *duration > high) {
      return Refuse(path, value.Scalar() + " is out of range",
                    "use " + std::to_string(low.ms) + "ms to " + std::to_string(high.ms) + "ms");
    }
    *out = *duration;
    return Status::Ok();
  };
}

}  // namespace glim::server
