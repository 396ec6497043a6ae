#include "scheduler/policy/policy_baselines.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "scheduler/core/model/measures.h"
#include "scheduler/policy/policy_names.h"
#include "sdk/base/number_text.h"
#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"

namespace glim::server {
namespace {

using core::NodeBaseline;

constexpr std::size_t kBaselinesMax = 32;
constexpr double kValueMin = 1e-6, kValueMax = 1e9;

Status RefuseMeasure(const yaml::Entry& entry, const std::string& path) {
  const std::vector<std::string_view> names(core::kMeasures.begin(), core::kMeasures.end());
  const std::string near = Nearest(entry.key, names);
  return yaml::RefuseAt(
      entry.mark, path, "'" + Printable(entry.key) + "' is nothing that glim-validate compares",
      near.empty() ? "take what glim-validate --merge FILES --policy prints" : "did you mean '" + near + "'?");
}

yaml::Field IntoExpected(std::map<std::string, double>* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    return yaml::ReadEntries(value, path, "{cpu.piece: 41.7}", [out](const yaml::Entry& entry, const std::string& at) {
      if (!core::IsMeasure(entry.key)) return RefuseMeasure(entry, at);
      return yaml::IntoReal(&(*out)[entry.key], kValueMin, kValueMax)(*entry.value, at);
    });
  };
}

Status ReadBaseline(const yaml::Node& row, const std::string& at, NodeBaseline* out) {
  Status s = yaml::ReadMap(row, at,
                           {{"pool", yaml::IntoName(&out->pool)},
                            {"gpu_type", yaml::IntoName(&out->gpu_type)},
                            {"expected", IntoExpected(&out->expected)}});
  if (!s.ok() || !out->expected.empty()) return s;
  return yaml::RefuseAt(row, yaml::JoinPath(at, "expected"), "is missing or empty",
                        "write what nodes of this kind have: expected: {cpu.piece: 41.7}");
}

// Whoever is `late`'s was `early`'s before.
bool Covers(const NodeBaseline& early, const NodeBaseline& late) {
  return (early.pool.empty() || early.pool == late.pool) && (early.gpu_type.empty() || early.gpu_type == late.gpu_type);
}

}  // namespace

yaml::Field IntoBaselines(std::vector<NodeBaseline>* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    if (!value.IsSequence() || value.items.size() > kBaselinesMax) {
      return yaml::RefuseAt(value, path, "must be a list of at most 32 rows",
                            "write it like [{pool: train, expected: {cpu.piece: 41.7}}]");
    }
    std::vector<NodeBaseline> read(value.items.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      const std::string at = path + "[" + std::to_string(i) + "]";
      if (Status s = ReadBaseline(*value.items[i], at, &read[i]); !s.ok()) return s;
      for (std::size_t j = 0; j < i; ++j) {
        if (!Covers(read[j], read[i])) continue;
        return yaml::RefuseAt(*value.items[i], at, "is of no use: row " + std::to_string(j) + " is for all its nodes",
                              "write the row that is for fewer nodes first");
      }
    }
    *out = std::move(read);
    return Status::Ok();
  };
}

std::string BaselinesYaml(const std::vector<NodeBaseline>& baselines) {
  std::string rows;
  for (const NodeBaseline& baseline : baselines) {
    rows += rows.empty() ? "{" : ", {";
    if (!baseline.pool.empty()) rows += "pool: " + YamlName(baseline.pool) + ", ";
    if (!baseline.gpu_type.empty()) rows += "gpu_type: " + YamlName(baseline.gpu_type) + ", ";
    std::string expected;
    for (const auto& [measure, number] : baseline.expected) {
      expected += (expected.empty() ? "" : ", ") + measure + ": " + NumberText(number);
    }
    rows += "expected: {" + expected + "}}";
  }
  return "[" + rows + "]";
}

}  // namespace glim::server
