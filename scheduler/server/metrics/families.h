// Families: what a scrape is made of, for figures that are counted when it comes. Values.
#pragma once

#include <prometheus/metric_family.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace glim::server {

using Families = std::vector<prometheus::MetricFamily>;
using Labels = std::vector<prometheus::ClientMetric::Label>;

prometheus::MetricFamily GaugeFamily(const std::string& name, const std::string& help);
// `name` ends in _total; what is added never falls.
prometheus::MetricFamily CounterFamily(const std::string& name, const std::string& help);

void AddValue(prometheus::MetricFamily* family, Labels labels, double value);

// A gauge without labels.
prometheus::MetricFamily OneGauge(const std::string& name, const std::string& help, double value);

// The median, the 90th percentile and the largest of these, each a series with the label `stat`; none of nothing. A
// bounded word on many: no series for each.
prometheus::MetricFamily SpreadFamily(const std::string& name, const std::string& help, std::vector<double> values);

}  // namespace glim::server
