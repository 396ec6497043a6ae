#include "scheduler/policy/policy_price.h"

#include <cstdint>

#include "sdk/base/status.h"

namespace glim::server {
namespace {

constexpr char kNoPrice[] = "none";
constexpr std::int64_t kMilliMax = 1'000'000'000;  // a million of the unit

Status ReadPoolPrices(const yaml::Node& value, const std::string& path, core::Price* price) {
  price->pools.clear();
  return yaml::ReadEntries(value, path, "{a100: 2.0}", [&](const yaml::Entry& entry, const std::string& at) {
    return yaml::IntoPermille(&price->pools[entry.key], 0, kMilliMax)(*entry.value, at);
  });
}

Status ReadRates(const yaml::Node& value, const std::string& path, core::Price* price) {
  return yaml::ReadMap(
      value, path,
      {{"default", yaml::IntoPermille(&price->per_gpu_hour_milli, 0, kMilliMax)},
       {"pools", [=](const yaml::Node& v, const std::string& at) { return ReadPoolPrices(v, at, price); }}});
}

}  // namespace

yaml::Field IntoPrice(core::Price* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    if (value.IsScalar() && value.scalar == kNoPrice) {
      *out = {};
      return Status::Ok();
    }
    if (!value.IsMapping()) {
      return yaml::RefuseAt(value, path, "is neither a mapping nor 'none'",
                            "write {unit: credits, per_gpu_hour: {default: 1.0}}, or none");
    }
    core::Price read;
    Status status = yaml::ReadMap(
        value, path,
        {{"unit", yaml::IntoName(&read.unit)},
         {"per_gpu_hour", [&](const yaml::Node& v, const std::string& at) { return ReadRates(v, at, &read); }}});
    if (!status.ok()) return status;
    if (read.unit.empty()) {
      return yaml::RefuseAt(value, yaml::JoinPath(path, "unit"), "is missing", "name what is counted, as credits");
    }
    *out = std::move(read);
    return Status::Ok();
  };
}

std::string PriceYaml(const core::Price& price) {
  if (price.unit.empty()) return kNoPrice;
  std::string pools;
  for (const auto& [pool, milli] : price.pools) {
    pools += (pools.empty() ? "\"" : ", \"") + pool + "\": " + yaml::PermilleText(milli);
  }
  return "{unit: \"" + price.unit + "\", per_gpu_hour: {default: " + yaml::PermilleText(price.per_gpu_hour_milli) +
         ", pools: {" + pools + "}}}";
}

}  // namespace glim::server
