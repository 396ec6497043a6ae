#include "scheduler/server/limits_file.h"

#include <string>
#include <utility>

namespace glim::server {
namespace {

constexpr std::int64_t kMost = 1'000'000;

yaml::Field IntoBytes(std::uint64_t* out, std::uint64_t unit) {
  return [=](const yaml::Node& value, const std::string& path) {
    auto number = yaml::ReadNumber(value, path, 1, kMost);
    if (number.ok()) *out = static_cast<std::uint64_t>(*number) * unit;
    return number.status();
  };
}

yaml::Fields FieldsOf(BoundOf of, Bounds* limits) {
  yaml::Fields fields = {
      {"requests_per_second", yaml::IntoNumber(&limits->At(of, Bound::kRequests), 1, kMost)},
      {"calls", yaml::IntoNumber(&limits->At(of, Bound::kCalls), 1, kMost)},
      {"streams", yaml::IntoNumber(&limits->At(of, Bound::kStreams), 1, kMost)},
      {"reads", yaml::IntoNumber(&limits->At(of, Bound::kReads), 1, kMost)},
      {"changes_kib_per_second", IntoBytes(&limits->At(of, Bound::kChanges), kKib)},
      {"queued_mib", IntoBytes(&limits->At(of, Bound::kBytes), kMib)},
  };
  if (of == BoundOf::kUser) return fields;  // agents have no name
  fields["agent_streams"] = yaml::IntoNumber(&limits->At(of, Bound::kAgentStreams), 1, kMost);
  fields["agent_hellos"] = yaml::IntoNumber(&limits->At(of, Bound::kAgentHellos), 1, kMost);
  return fields;
}

}  // namespace

yaml::Field ReadLimitsInto(Bounds* limits) {
  return [limits](const yaml::Node& value, const std::string& path) {
    yaml::Fields levels;
    for (const auto& [key, of] :
         {std::pair{"user", BoundOf::kUser}, {"peer", BoundOf::kPeer}, {"all", BoundOf::kAll}}) {
      levels[key] = [fields = FieldsOf(of, limits)](const yaml::Node& level, const std::string& at) {
        return yaml::ReadMap(level, at, fields);
      };
    }
    return yaml::ReadMap(value, path, levels);
  };
}

}  // namespace glim::server
