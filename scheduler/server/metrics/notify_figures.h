// What notifications count, for a scrape.
#pragma once

#include <prometheus/collectable.h>

#include <vector>

#include "scheduler/notify/figures.h"

namespace glim::server {

class NotifyFigures final : public prometheus::Collectable {
 public:
  // `figures` outlives it.
  explicit NotifyFigures(const notify::Figures* figures) : figures_(figures) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const notify::Figures* const figures_;
};

}  // namespace glim::server
