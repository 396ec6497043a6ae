#include "scheduler/server/metrics/families.h"

#include <algorithm>

namespace glim::server {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

namespace {

MetricFamily FamilyOf(const std::string& name, const std::string& help, MetricType type) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

}  // namespace

MetricFamily GaugeFamily(const std::string& name, const std::string& help) {
  return FamilyOf(name, help, MetricType::Gauge);
}

MetricFamily CounterFamily(const std::string& name, const std::string& help) {
  return FamilyOf(name, help, MetricType::Counter);
}

void AddValue(MetricFamily* family, Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (family->type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family->metric.push_back(std::move(metric));
}

MetricFamily OneGauge(const std::string& name, const std::string& help, double value) {
  MetricFamily family = GaugeFamily(name, help);
  AddValue(&family, {}, value);
  return family;
}

MetricFamily SpreadFamily(const std::string& name, const std::string& help, std::vector<double> values) {
  MetricFamily family = GaugeFamily(name, help);
  if (values.empty()) return family;
  std::sort(values.begin(), values.end());
  // The nearest rank: one of the values, and for the largest no other than it.
  const auto at = [&](std::size_t percent) { return values[(values.size() * percent + 99) / 100 - 1]; };
  AddValue(&family, {{"stat", "median"}}, at(50));
  AddValue(&family, {{"stat", "p90"}}, at(90));
  AddValue(&family, {{"stat", "max"}}, at(100));
  return family;
}

}  // namespace glim::server
