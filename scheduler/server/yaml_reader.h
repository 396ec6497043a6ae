// Reading YAML by tables of keys: what is not in the table is refused with its path. yaml-cpp's exceptions end here.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::server {

// Takes the value at `path` in.
using YamlField = std::function<Status(const YAML::Node& value, const std::string& path)>;
using YamlFields = std::map<std::string, YamlField>;

// Each key of the mapping goes to its field.
Status ReadYamlMap(const YAML::Node& node, const std::string& path, const YamlFields& fields);

YamlField IntoText(std::string* out);
// Whole numbers of an unsigned or signed type, within [low, high].
template <typename Number>
YamlField IntoNumber(Number* out, std::int64_t low, std::int64_t high);
// "250ms", "10s", "5m", "2h", "30d".
YamlField IntoDuration(Duration* out, Duration low, Duration high);

Result<std::int64_t> ParseYamlNumber(const YAML::Node& value, const std::string& path, std::int64_t low,
                                     std::int64_t high);
Result<Duration> ParseDuration(const std::string& text);

template <typename Number>
YamlField IntoNumber(Number* out, std::int64_t low, std::int64_t high) {
  return [out, low, high](const YAML::Node& value, const std::string& path) {
    auto number = ParseYamlNumber(value, path, low, high);
    if (!number.ok()) return number.status();
    *out = static_cast<Number>(*number);
    return Status::Ok();
  };
}

}  // namespace glim::server
