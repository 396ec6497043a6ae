// GPUs in words. Simulated ones are marked wherever they are shown. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "proto/json/document.h"

namespace glim::cli {

using proto::GpusOf;
using proto::HasSimulatedGpus;

// "8" or "8 (simulated)".
inline std::string GpuText(std::uint64_t count, bool simulated) {
  return std::to_string(count) + (simulated ? " (simulated)" : "");
}

}  // namespace glim::cli
