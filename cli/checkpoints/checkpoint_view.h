// What `glim ckpt` shows: manifests in, text for a terminal or JSON out. Pure: the present is handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/checkpoints/compare.h"
#include "cli/text/render_json.h"
#include "sdk/base/size_text.h"
#include "sdk/base/time.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/format/manifest.h"

namespace glim::cli {

// One line of the list.
struct CheckpointRow {
  checkpoint::CheckpointId id;
  std::string path;
  bool counts = false;
  bool newest = false;
  std::optional<checkpoint::Manifest> manifest;  // none: it is bad
  std::string fault;
};

std::string CheckpointsTable(const std::vector<CheckpointRow>& rows, TimePoint now, bool colour);
Json CheckpointsJson(const std::vector<CheckpointRow>& rows);

// What is in it: a few lines about the whole, then a row for each of `tensors` (all that the manifest has, or some).
std::string CheckpointText(const std::string& path, const checkpoint::Manifest& manifest,
                           const std::vector<std::string>& tensors, TimePoint now, bool colour);
Json CheckpointJson(const std::string& path, const checkpoint::Manifest& manifest,
                    const std::vector<std::string>& tensors);

std::string ChangesTable(const std::vector<TensorChange>& changes, bool colour);
Json ChangesJson(const std::vector<TensorChange>& changes);

std::uint64_t ShardBytesOf(const checkpoint::Manifest& manifest);

}  // namespace glim::cli
