#include "cli/spec/spec_limits.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "cli/text/text.h"
#include "sdk/base/suggest.h"
#include "sdk/base/utf8.h"

namespace glim::cli {
namespace {

bool IsAlnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Set by Glim for every task: a job's own value would be lost.
constexpr std::string_view kReservedEnv[] = {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "NNODES"};

Status CheckText(const std::string& field, const std::string& value, std::size_t bytes_max, bool allow_lines) {
  if (value.size() > bytes_max) {
    return InvalidArgument(field, fmt::format("{} bytes, at most {} are allowed", value.size(), bytes_max));
  }
  if (FirstInvalidUtf8(value) != std::string_view::npos) return InvalidArgument(field, "not UTF-8");
  const auto at = FirstControl(value, allow_lines);
  if (at == std::string_view::npos) return Status::Ok();
  const std::string_view rest = std::string_view(value).substr(at);
  const std::string shown = Escaped(rest.substr(0, DecodeUtf8(rest).size));
  return InvalidArgument(field, fmt::format("control character {} at byte {}", shown, at), "remove it");
}

}  // namespace

Status CheckName(const std::string& field, const std::string& value) {
  if (value.empty()) return InvalidArgument(field, "empty", "give it 1 to 128 letters, digits, '.', '_' or '-'");
  if (value.size() > kNameBytesMax) {
    return InvalidArgument(field, fmt::format("{} characters, at most {} are allowed", value.size(), kNameBytesMax),
                           "shorten it");
  }
  const auto fits = [](char c) { return IsAlnum(c) || c == '.' || c == '_' || c == '-'; };
  if (!std::all_of(value.begin(), value.end(), fits)) {
    return InvalidArgument(
        field, fmt::format("'{}' has other characters than letters, digits, '.', '_' and '-'", Shown(value)),
        "use only these");
  }
  if (value.front() == '.' || value.front() == '-') {
    return InvalidArgument(field, fmt::format("'{}' starts with '{}'", value, value.front()),
                           "start with a letter, a digit or '_'");
  }
  return Status::Ok();
}

Status CheckPriority(const std::string& field, const std::string& value) {
  constexpr std::string_view kNumbers[] = {"-1", "0", "5", "8", "10", "20", "30", "40", "50"};
  if (std::find(std::begin(kNumbers), std::end(kNumbers), value) != std::end(kNumbers)) return Status::Ok();
  std::string name = value;
  std::replace(name.begin(), name.end(), '-', '_');
  return CheckOneOf(field, name, kPriorities);
}

Status CheckRun(const std::string& field, const std::string& value) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  if (std::all_of(value.begin(), value.end(), space)) {
    return InvalidArgument(field, "empty", "write the shell command line to run on every node");
  }
  return CheckText(field, value, kRunBytesMax, /*allow_lines=*/true);
}

Status CheckMountPath(const std::string& field, const std::string& value) {
  if (Status s = CheckPath(field, value); !s.ok()) return s;
  const std::string closed = value + "/";
  const bool plain = value.size() > 1 && value[0] == '/' && value.back() != '/' &&
                     value.find("//") == std::string::npos && closed.find("/../") == std::string::npos &&
                     closed.find("/./") == std::string::npos;
  if (plain) return Status::Ok();
  return InvalidArgument(field, fmt::format("'{}' is not a plain absolute path", Shorten(Escaped(value), 64)),
                         "write it like /data/set");
}

Status CheckPath(const std::string& field, const std::string& value) {
  if (value.empty()) return InvalidArgument(field, "empty", "write a path");
  if (value.front() == '~') {
    return InvalidArgument(field, fmt::format("'{}': '~' is not expanded", Shown(value)), "write the path in full");
  }
  return CheckText(field, value, kPathBytesMax, /*allow_lines=*/false);
}

Status CheckCheckpointDir(const std::string& field, const std::string& value) {
  if (Status path = CheckPath(field, value); !path.ok()) return path;
  if (value.front() != '/') {
    return InvalidArgument(field, fmt::format("'{}' is not absolute", Shown(value)), "start it with '/'");
  }
  if (Status plain = CheckMountPath(field, value); !plain.ok()) return plain;
  for (auto at = value.find('$'); at != std::string::npos; at = value.find('$', at + 1)) {
    std::size_t end = at + 1;
    while (end < value.size() && (IsAlnum(value[end]) || value[end] == '_')) ++end;
    const std::string name = value.substr(at, end - at);
    if (name == "$GLIM_JOB_ID" || name == "$GLIM_JOB_NAME") continue;
    return InvalidArgument(field, fmt::format("'{}' is not expanded here", Shown(name)),
                           "only $GLIM_JOB_ID and $GLIM_JOB_NAME are");
  }
  return Status::Ok();
}

Status CheckDependency(const std::string& field, const std::string& value) {
  const std::size_t colon = value.find(':');
  const std::string number = value.substr(0, colon);
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  // 18 digits fit any counter.
  const bool counts = !number.empty() && number.size() <= 18 && std::all_of(number.begin(), number.end(), digit);
  if (!counts || number.find_first_not_of('0') == std::string::npos) {
    return InvalidArgument(field, fmt::format("'{}' does not begin with a job's number", Shown(value)),
                           "write it like 812 or 812:failed");
  }
  return colon == std::string::npos ? Status::Ok() : CheckOneOf(field, value.substr(colon + 1), kDependencyKinds);
}

Status CheckEnvName(const std::string& field, const std::string& value) {
  const auto fits = [](char c) { return IsAlnum(c) || c == '_'; };
  const bool sized = !value.empty() && value.size() <= kNameBytesMax;
  const bool digit_first = sized && std::isdigit(static_cast<unsigned char>(value[0])) != 0;
  if (!sized || digit_first || !std::all_of(value.begin(), value.end(), fits)) {
    return InvalidArgument(field, fmt::format("'{}' is no name of a variable", Shown(value)),
                           "use letters, digits and '_', not starting with a digit");
  }
  const bool reserved = std::find(std::begin(kReservedEnv), std::end(kReservedEnv), value) != std::end(kReservedEnv);
  if (reserved || value.starts_with("GLIM_")) {
    return InvalidArgument(field, fmt::format("'{}' is set by Glim itself", value), "choose another name");
  }
  return Status::Ok();
}

Status CheckEnvValue(const std::string& field, const std::string& value) {
  return CheckText(field, value, kEnvValueBytesMax, /*allow_lines=*/true);
}

Status CheckOneOf(const std::string& field, const std::string& value, std::span<const std::string_view> words) {
  if (std::find(words.begin(), words.end(), value) != words.end()) return Status::Ok();
  const std::string nearest = Nearest(value, words);
  return InvalidArgument(field, fmt::format("'{}' is none of: {}", Shown(value), fmt::join(words, ", ")),
                         nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
}

Status CheckRanks(const std::string& launcher, std::int64_t gpus_per_node) {
  if (launcher != "per-gpu" || gpus_per_node > 0) return Status::Ok();
  return InvalidArgument("gpus_per_node", "0, but launcher per-gpu starts one process for each GPU",
                         "use at least 1, or launcher node");
}

Status CheckRange(const std::string& field, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least)
    return InvalidArgument(field, fmt::format("{} is too few", value), fmt::format("use at least {}", least));
  if (value > most)
    return InvalidArgument(field, fmt::format("{} is too many", value), fmt::format("use at most {}", most));
  return Status::Ok();
}

}  // namespace glim::cli
