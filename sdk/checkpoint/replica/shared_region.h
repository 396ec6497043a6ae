// The service's memory: files without a name, which its transfer processes map.
#pragma once

#include <cstdint>

#include "sdk/checkpoint/replica/replica_table.h"

namespace glim::checkpoint {

class SharedRegionMaker final : public RegionMaker {
 public:
  Result<std::shared_ptr<Region>> Make(std::uint64_t bytes) override;

 private:
  std::uint64_t made_ = 0;
};

}  // namespace glim::checkpoint
