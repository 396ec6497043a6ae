// Reading YAML by tables of keys: what is not in the table is refused with its place and its path. Pure functions on
// values; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "sdk/base/time.h"
#include "sdk/yaml/tree.h"

namespace glim::yaml {

// Takes the value at `path` in.
using Field = std::function<Status(const Node& value, const std::string& path)>;
using Fields = std::map<std::string, Field>;

// Messages begin with line and column ("3:1: quotas.users.kim: ..."), as all of this file's do; InSource puts the
// file's name in front. INVALID_ARGUMENT, BAD_CONFIG.
Status RefuseAt(Mark where, const std::string& path, const std::string& message, std::string fix = "");
inline Status RefuseAt(const Node& where, const std::string& path, const std::string& message, std::string fix = "") {
  return RefuseAt(where.mark, path, message, std::move(fix));
}
Status InSource(const std::string& source, const Status& refusal);
std::string JoinPath(const std::string& path, const std::string& key);

// The bytes of a configuration file, 1 MiB at most. `field` is what the refusal is about (--policy).
Result<std::string> ReadTextFile(const std::string& path, const std::string& field);
// Parses a configuration: one mapping, whose keys are `fields`. Refusals begin with the source's name.
Status ReadText(const std::string& text, const std::string& source, const Fields& fields);

// Each key of the mapping goes to its field. A null stands for an empty mapping.
Status ReadMap(const Node& node, const std::string& path, const Fields& fields);
// For mappings whose keys are names: `take` gets each of them, in the order written.
using TakeEntry = std::function<Status(const Entry& entry, const std::string& path)>;
Status ReadEntries(const Node& node, const std::string& path, const char* example, const TakeEntry& take);

// 1 to 4096 bytes.
Field IntoText(std::string* out);
// The same, if `check` takes it; a refusal's message and fix are told with the place.
using CheckText = std::function<Status(const std::string& text)>;
Field IntoChecked(std::string* out, CheckText check);
// Whole numbers of an unsigned or signed type, within [low, high].
template <typename Number>
Field IntoNumber(Number* out, std::int64_t low, std::int64_t high);
// "250ms", "10s", "5m", "2h", "30d".
Field IntoDuration(Duration* out, Duration low, Duration high);
// "0.7", "1.2", "2": at most three digits behind the point, kept in thousandths.
Field IntoPermille(std::int64_t* out, std::int64_t low, std::int64_t high);
// Any decimal number, "1e3" too.
Field IntoReal(double* out, double low, double high);
// "64MiB", "2TiB": a whole number and a unit.
Field IntoSize(std::int64_t* out, std::int64_t low, std::int64_t high);
Field IntoBool(bool* out);
// A name of a user, team, pool or zone: 1 to 64 characters of A-Z a-z 0-9 . _ -
Field IntoName(std::string* out);

Result<std::int64_t> ReadNumber(const Node& value, const std::string& path, std::int64_t low, std::int64_t high);
bool IsName(const std::string& text);
// "0.7", "1.25".
std::string PermilleText(std::int64_t permille);

template <typename Number>
Field IntoNumber(Number* out, std::int64_t low, std::int64_t high) {
  return [out, low, high](const Node& value, const std::string& path) {
    auto number = ReadNumber(value, path, low, high);
    if (!number.ok()) return number.status();
    *out = static_cast<Number>(*number);
    return Status::Ok();
  };
}

}  // namespace glim::yaml
