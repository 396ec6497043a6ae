#include "cli/simulate/compare.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

constexpr double kLow = 0.05, kHigh = 0.95;  // of the runs over drawn days

struct Figure {
  const char* key;
  const char* name;
  FigureUnit unit;
};
constexpr Figure kOfCluster[] = {{"interrupts", "interrupts", FigureUnit::kCount},
                                 {"lost_gpu_hours", "lost GPU-hours", FigureUnit::kHours},
                                 {"utilisation", "utilisation", FigureUnit::kShare},
                                 {"goodput", "goodput", FigureUnit::kShare},
                                 {"makespan_s", "makespan", FigureUnit::kSeconds}};
constexpr Figure kOfClass[] = {{"wait_p50_s", "wait p50", FigureUnit::kSeconds},
                               {"wait_p99_s", "wait p99", FigureUnit::kSeconds}};

// The value that at least this share of all do not exceed.
double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size()) - 1e-9));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

// A drawn history may lack a class: then it says nothing of it.
const Json* Find(const Json& document, const std::vector<std::string>& path) {
  const Json* at = &document;
  for (const std::string& key : path) {
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at->is_number() ? at : nullptr;
}

Compared CompareOne(const Json& present, const Json& other, const std::vector<std::string>& path, std::string name,
                    FigureUnit unit) {
  Compared figure;
  figure.name = std::move(name);
  for (const std::string& key : path) figure.key += (figure.key.empty() ? "" : ".") + key;
  figure.unit = unit;
  std::vector<double> of_present, of_other, differences;
  const Json& drawn_present = present["resampled"];
  const Json& drawn_other = other["resampled"];
  for (std::size_t i = 0; i < std::min(drawn_present.size(), drawn_other.size()); ++i) {
    const Json* const a = Find(drawn_present[i], path);
    const Json* const b = Find(drawn_other[i], path);
    if (a != nullptr) of_present.push_back(a->get<double>());
    if (b != nullptr) of_other.push_back(b->get<double>());
    if (a != nullptr && b != nullptr) differences.push_back(b->get<double>() - a->get<double>());
  }
  const auto range = [](double value, const std::vector<double>& drawn) {
    return Ranged{value, Percentile(drawn, kLow), Percentile(drawn, kHigh)};
  };
  const Json* const a = Find(present["history"], path);
  const Json* const b = Find(other["history"], path);
  const double before = a == nullptr ? 0 : a->get<double>(), after = b == nullptr ? 0 : b->get<double>();
  figure.present = range(before, of_present);
  figure.other = range(after, of_other);
  figure.change = range(after - before, differences);
  return figure;
}

bool IsWhole(const Json& document) {
  return document.is_object() && document.contains("history") && document["history"].contains("classes") &&
         document["history"]["classes"].is_object() && document.contains("resampled") &&
         document["resampled"].is_array();
}

std::string ValueText(double value, FigureUnit unit) {
  switch (unit) {
    case FigureUnit::kSeconds: {
      const auto ms = static_cast<std::int64_t>(std::llround(std::abs(value) * 1000));
      return (value < 0 ? "-" : "") + RoundedDurationText(Milliseconds(ms));
    }
    case FigureUnit::kCount: return fmt::format("{:.0f}", value);
    case FigureUnit::kHours: return fmt::format("{:.2f}", value);
    case FigureUnit::kShare: return fmt::format("{:.1f} %", value * 100);
  }
  return "";
}

std::string ChangeText(double value, FigureUnit unit) {
  return (value > 0 ? "+" : "") + (value == 0 ? std::string("0") : ValueText(value, unit));
}

std::string RangeText(const Ranged& ranged, FigureUnit unit, std::string (*text)(double, FigureUnit)) {
  return text(ranged.low, unit) + " .. " + text(ranged.high, unit);
}

Json RangedJson(const Ranged& ranged, bool with_range) {
  Json json{{"value", ranged.value}};
  if (with_range) {
    json["low"] = ranged.low;
    json["high"] = ranged.high;
  }
  return json;
}

}  // namespace

Result<std::vector<Compared>> Compare(const Json& present, const Json& other) {
  if (!IsWhole(present) || !IsWhole(other)) {
    return Status(StatusCode::kInternal, "glim-sim did not answer with the figures of a history")
        .WithReason("BAD_SIMULATOR")
        .WithFix("use the glim-sim of the same release as glim");
  }
  std::vector<Compared> figures;
  const Json& classes = present["history"]["classes"];
  for (const auto& [priority, of_class] : classes.items()) {
    for (const Figure& figure : kOfClass) {
      figures.push_back(CompareOne(present, other, {"classes", priority, figure.key},
                                   fmt::format("{}, {}", figure.name, priority), figure.unit));
    }
  }
  for (const Figure& figure : kOfCluster) {
    figures.push_back(CompareOne(present, other, {figure.key}, figure.name, figure.unit));
  }
  return figures;
}

std::string ComparedTable(const std::vector<Compared>& figures, bool with_ranges, bool colour) {
  std::vector<Column> columns = {{"FIGURE"}, {"PRESENT", true}, {"NEW", true}, {"CHANGE", true}};
  if (with_ranges) {
    columns = {{"FIGURE"},      {"PRESENT", true}, {"RANGE", true}, {"NEW", true},
               {"RANGE", true}, {"CHANGE", true},  {"RANGE", true}};
  }
  Table table(std::move(columns));
  for (const Compared& figure : figures) {
    const FigureUnit unit = figure.unit;
    std::vector<Cell> cells = {figure.name};
    const auto add = [&](const Ranged& ranged, std::string (*text)(double, FigureUnit)) {
      cells.emplace_back(text(ranged.value, unit));
      if (with_ranges) cells.emplace_back(RangeText(ranged, unit, text));
    };
    add(figure.present, ValueText);
    add(figure.other, ValueText);
    add(figure.change, ChangeText);
    table.AddRow(std::move(cells));
  }
  return table.Render(colour);
}

Json ComparedJson(const std::vector<Compared>& figures, bool with_ranges) {
  Json rows = Json::array();
  for (const Compared& figure : figures) {
    rows.push_back({{"key", figure.key},
                    {"present", RangedJson(figure.present, with_ranges)},
                    {"new", RangedJson(figure.other, with_ranges)},
                    {"change", RangedJson(figure.change, with_ranges)}});
  }
  return rows;
}

}  // namespace glim::cli
