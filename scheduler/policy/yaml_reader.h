// Reading YAML by tables of keys: what is not in the table is refused with its place and its path. yaml-cpp's
// exceptions end here. Pure functions on values; a YAML::Node is no thread's but its reader's.
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

// The one document of `text`; null if there is nothing in it. Refused: what is no YAML, more than one document,
// aliases, control characters, what is nested too deep. Messages begin with line and column ("3:1: ..."), as all of
// this file do.
Result<YAML::Node> ParseYaml(const std::string& text);
// The bytes of a file, 1 MiB at most. `field` is what the refusal is about (--policy).
Result<std::string> ReadTextFile(const std::string& path, const std::string& field);

// Each key of the mapping goes to its field. A null stands for an empty mapping.
Status ReadYamlMap(const YAML::Node& node, const std::string& path, const YamlFields& fields);
// For mappings whose keys are names: `take` gets each of them once, in the order written.
using YamlEntry = std::function<Status(const std::string& name, const YAML::Node& key, const YAML::Node& value,
                                       const std::string& path)>;
Status ReadYamlEntries(const YAML::Node& node, const std::string& path, const char* example, const YamlEntry& take);

YamlField IntoText(std::string* out);
// Whole numbers of an unsigned or signed type, within [low, high].
template <typename Number>
YamlField IntoNumber(Number* out, std::int64_t low, std::int64_t high);
// "250ms", "10s", "5m", "2h", "30d".
YamlField IntoDuration(Duration* out, Duration low, Duration high);
// "0.7", "1.2", "2": at most three digits behind the point, kept in thousandths.
YamlField IntoPermille(std::int64_t* out, std::int64_t low, std::int64_t high);
YamlField IntoBool(bool* out);
// A name of a user, team, pool or zone: 1 to 64 characters of A-Z a-z 0-9 . _ -
YamlField IntoName(std::string* out);

Result<std::int64_t> ParseYamlNumber(const YAML::Node& value, const std::string& path, std::int64_t low,
                                     std::int64_t high);
Result<Duration> ParseDuration(const std::string& text);
// As ParseDuration reads it, in the largest unit that leaves a whole number: "10m", "90s".
std::string DurationText(Duration duration);
// "0.7", "1.25".
std::string PermilleText(std::int64_t permille);
bool IsName(const std::string& text);

// INVALID_ARGUMENT, BAD_CONFIG: "12:3: quotas.users.kim: message".
Status RefuseAt(const YAML::Node& where, const std::string& path, const std::string& message, std::string fix = "");
// The same refusal with the file's name in front: "policy.yaml:12:3: ...".
Status InSource(const std::string& source, const Status& refusal);
std::string JoinPath(const std::string& path, const std::string& key);

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
