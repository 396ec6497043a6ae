#include "scheduler/policy/policy_durations.h"

#include <utility>

#include "sdk/base/duration_text.h"
#include "sdk/base/printable.h"

namespace glim::server {
namespace {

constexpr char kOthers[] = "others";

Status RefuseClass(const yaml::Entry& entry, const std::string& at, const std::string& fix) {
  return yaml::RefuseAt(entry.mark, at, "'" + Printable(entry.key) + "' is not a priority class", fix);
}

Status ReadByClass(const yaml::Node& value, const std::string& path, Duration low, Duration high,
                   core::ClassDurations* out) {
  core::ClassDurations read{out->others, {}};
  for (const yaml::Entry& entry : value.entries) {
    const std::string at = yaml::JoinPath(path, Printable(entry.key));
    if (entry.key == kOthers) {
      if (Status s = yaml::IntoDuration(&read.others, low, high)(*entry.value, at); !s.ok()) return s;
      continue;
    }
    const auto priority = core::ParsePriority(entry.key);
    if (!priority.ok()) return RefuseClass(entry, at, priority.status().fix() + ", or others");
    if (*priority == core::PriorityClass::kAuto) return RefuseClass(entry, at, "name a class, or others");
    if (read.by_class.contains(*priority)) {
      return yaml::RefuseAt(entry.mark, at, std::string("class ") + core::ToString(*priority) + " is given twice",
                            "keep one");
    }
    if (Status s = yaml::IntoDuration(&read.by_class[*priority], low, high)(*entry.value, at); !s.ok()) return s;
  }
  *out = std::move(read);
  return Status::Ok();
}

}  // namespace

yaml::Field IntoClassDurations(core::ClassDurations* out, Duration low, Duration high) {
  return [=](const yaml::Node& value, const std::string& path) {
    if (value.IsMapping()) return ReadByClass(value, path, low, high, out);
    Duration all;
    if (Status s = yaml::IntoDuration(&all, low, high)(value, path); !s.ok()) return s;
    *out = {all, {}};
    return Status::Ok();
  };
}

std::string ClassDurationsYaml(const core::ClassDurations& durations) {
  if (durations.by_class.empty()) return WriteDuration(durations.others);
  std::string text = std::string("{") + kOthers + ": " + WriteDuration(durations.others);
  for (const auto& [priority, duration] : durations.by_class) {
    text += std::string(", ") + core::ToString(priority) + ": " + WriteDuration(duration);
  }
  return text + "}";
}

yaml::Field IntoPoolDurations(std::map<std::string, Duration>* out, Duration low, Duration high) {
  return [=](const yaml::Node& value, const std::string& path) {
    std::map<std::string, Duration> read;
    const auto entry = [&](const yaml::Entry& pool, const std::string& at) {
      return yaml::IntoDuration(&read[pool.key], low, high)(*pool.value, at);
    };
    if (Status s = yaml::ReadEntries(value, path, "{debug: 1h}", entry); !s.ok()) return s;
    *out = std::move(read);
    return Status::Ok();
  };
}

std::string PoolDurationsYaml(const std::map<std::string, Duration>& durations) {
  std::string text;
  for (const auto& [pool, duration] : durations) {
    text += (text.empty() ? "\"" : ", \"") + pool + "\": " + WriteDuration(duration);
  }
  return "{" + text + "}";
}

}  // namespace glim::server
