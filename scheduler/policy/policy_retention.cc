#include "scheduler/policy/policy_retention.h"

#include <cstdint>

#include "sdk/base/duration_text.h"
#include "sdk/base/printable.h"
#include "sdk/base/size_text.h"

namespace glim::server {
namespace {

constexpr char kForever[] = "forever";
constexpr char kNoBound[] = "none";
constexpr Duration kAgeMin = Seconds(1);
constexpr Duration kAgeMax = Hours(24 * 3650);
constexpr Duration kEveryMin = Milliseconds(100);
constexpr Duration kEveryMax = Hours(24);
constexpr std::int64_t kBytesMaxLow = 1024;
constexpr std::int64_t kBytesMaxHigh = std::int64_t{1} << 60;

yaml::Field IntoBound(std::int64_t* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    if (value.IsScalar() && value.scalar == kNoBound) {
      *out = 0;
      return Status::Ok();
    }
    Status status = yaml::IntoSize(out, kBytesMaxLow, kBytesMaxHigh)(value, path);
    return status.ok() ? status : std::move(status).WithFix(status.fix() + ", or none");
  };
}

Status ReadRetention(const yaml::Node& value, const std::string& path, core::SaveRetention* out) {
  core::SaveRetention read;
  Status status = yaml::ReadMap(value, path,
                                {{"succeeded", yaml::IntoDuration(&read.succeeded, kAgeMin, kAgeMax)},
                                 {"failed", yaml::IntoDuration(&read.failed, kAgeMin, kAgeMax)},
                                 {"cancelled", yaml::IntoDuration(&read.cancelled, kAgeMin, kAgeMax)},
                                 {"bytes_max", IntoBound(&read.bytes_max)},
                                 {"every", yaml::IntoDuration(&read.every, kEveryMin, kEveryMax)}});
  if (status.ok()) *out = read;
  return status;
}

}  // namespace

yaml::Field IntoSaveRetention(core::SaveRetention* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    if (value.IsMapping()) return ReadRetention(value, path, out);
    if (!value.IsScalar() || value.scalar != kForever) {
      return yaml::RefuseAt(value, path, "is neither a mapping nor 'forever'",
                            "write {succeeded: 30d, failed: 90d, cancelled: 90d}, or forever to remove nothing");
    }
    *out = core::SaveRetention{};
    out->forever = true;
    return Status::Ok();
  };
}

std::string SaveRetentionYaml(const core::SaveRetention& retention) {
  if (retention.forever) return kForever;
  return "{succeeded: " + WriteDuration(retention.succeeded) + ", failed: " + WriteDuration(retention.failed) +
         ", cancelled: " + WriteDuration(retention.cancelled) +
         ", bytes_max: " + (retention.bytes_max == 0 ? kNoBound : WriteSize(retention.bytes_max)) +
         ", every: " + WriteDuration(retention.every) + "}";
}

}  // namespace glim::server
