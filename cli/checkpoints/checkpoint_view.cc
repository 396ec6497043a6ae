#include "cli/checkpoints/checkpoint_view.h"

#include <numeric>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"

namespace glim::cli {
namespace {

using checkpoint::Manifest;
using checkpoint::TensorEntry;

const char* Word(Change change) {
  switch (change) {
    case Change::kRemoved: return "removed";
    case Change::kAdded: return "added";
    case Change::kTyped: return "other type";
    case Change::kShaped: return "other shape";
    case Change::kChanged: return "other data";
  }
  return "?";
}

std::string ShapeText(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

// "F32 [3, 4]"; a scalar is "F32 []".
std::string TypeText(const std::optional<checkpoint::TensorInfo>& info) {
  return info ? std::string(SafetensorsNameOf(info->dtype)) + " " + ShapeText(info->shape) : "-";
}

Json TypeJson(const std::optional<checkpoint::TensorInfo>& info) {
  if (!info) return nullptr;
  Json out;
  out["dtype"] = SafetensorsNameOf(info->dtype);
  out["shape"] = info->shape;
  return out;
}

std::uint64_t BytesOf(const TensorEntry& tensor) {
  return std::accumulate(tensor.pieces.begin(), tensor.pieces.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const checkpoint::Piece& piece) { return sum + piece.bytes; });
}

Cell StateCell(const CheckpointRow& row) {
  if (!row.manifest) return {"bad", Style::kBad};
  if (row.newest) return {"newest", Style::kGood};
  return row.counts ? Cell("counts") : Cell("superseded", Style::kDim);
}

std::string Count(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Json TimeJson(std::int64_t ms) { return FormatRfc3339({ms}); }

}  // namespace

std::uint64_t ShardBytesOf(const Manifest& manifest) {
  return std::accumulate(manifest.shards.begin(), manifest.shards.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const checkpoint::Shard& shard) { return sum + shard.bytes; });
}

std::string CheckpointsTable(const std::vector<CheckpointRow>& rows, TimePoint now, bool colour) {
  Table table({{"CHECKPOINT"},
               {"STATE"},
               {"STEP", true},
               {"SIZE", true},
               {"TENSORS", true},
               {"RANKS", true},
               {"SAVED"},
               {"NOTE", false, 200}});
  for (const CheckpointRow& row : rows) {
    const std::string step = std::to_string(row.id.step);
    if (row.manifest) {
      table.AddRow({PathOf(row.id), StateCell(row), step, RoundedSizeText(ShardBytesOf(*row.manifest)),
                    std::to_string(row.manifest->tensors.size()), std::to_string(row.manifest->world_size),
                    FormatAgo({row.manifest->created_at_ms}, now), ""});
    } else {
      table.AddRow({PathOf(row.id), StateCell(row), step, "-", "-", "-", "-", row.fault});
    }
  }
  return table.Render(colour);
}

Json CheckpointsJson(const std::vector<CheckpointRow>& rows) {
  Json out = Json::array();
  for (const CheckpointRow& row : rows) {
    Json& entry = out.emplace_back();
    entry["path"] = row.path;
    entry["attempt"] = row.id.attempt;
    entry["step"] = row.id.step;
    entry["counts"] = row.counts;
    entry["newest"] = row.newest;
    entry["fault"] = row.manifest ? Json(nullptr) : Json(row.fault);
    entry["bytes"] = row.manifest ? Json(ShardBytesOf(*row.manifest)) : Json(nullptr);
    entry["tensors"] = row.manifest ? Json(row.manifest->tensors.size()) : Json(nullptr);
    entry["world_size"] = row.manifest ? Json(row.manifest->world_size) : Json(nullptr);
    entry["created_at_ms"] = row.manifest ? Json(row.manifest->created_at_ms) : Json(nullptr);
    entry["created_at"] = row.manifest ? TimeJson(row.manifest->created_at_ms) : Json(nullptr);
  }
  return out;
}

std::string CheckpointText(const std::string& path, const Manifest& manifest, const std::vector<std::string>& tensors,
                           TimePoint now, bool colour) {
  std::string out = Tint(Escaped(path), Style::kBold, colour) + "\n";
  out += fmt::format("step {} of attempt {}, saved {} by {}: {} of {} in {}\n", manifest.step, manifest.attempt,
                     FormatAgo({manifest.created_at_ms}, now), Count(manifest.world_size, "rank"),
                     RoundedSizeText(ShardBytesOf(manifest)), Count(manifest.tensors.size(), "tensor"),
                     Count(manifest.shards.size(), "shard"));
  for (const auto& [key, value] : manifest.metadata) {
    out += fmt::format("{}: {}\n", Escaped(key), Escaped(value));
  }
  Table table({{"TENSOR"}, {"TYPE"}, {"SHAPE"}, {"SIZE", true}, {"PIECES", true}, {"SHARD"}});
  for (const std::string& name : tensors) {
    const TensorEntry* tensor = manifest.Find(name);
    if (tensor == nullptr) continue;
    const std::size_t pieces = tensor->pieces.size();
    const std::string shard = pieces == 0   ? "-"
                              : pieces == 1 ? manifest.shards[tensor->pieces[0].shard].file
                                            : fmt::format("{} and on", manifest.shards[tensor->pieces[0].shard].file);
    table.AddRow({name, std::string(SafetensorsNameOf(tensor->info.dtype)), ShapeText(tensor->info.shape),
                  RoundedSizeText(BytesOf(*tensor)), std::to_string(pieces) + (tensor->by_rows ? " by rows" : ""),
                  shard});
  }
  return table.empty() ? out : out + table.Render(colour);
}

Json CheckpointJson(const std::string& path, const Manifest& manifest, const std::vector<std::string>& tensors) {
  Json out;
  out["path"] = path;
  out["attempt"] = manifest.attempt;
  out["step"] = manifest.step;
  out["world_size"] = manifest.world_size;
  out["created_at_ms"] = manifest.created_at_ms;
  out["created_at"] = TimeJson(manifest.created_at_ms);
  out["bytes"] = ShardBytesOf(manifest);
  out["metadata"] = Json::object();
  for (const auto& [key, value] : manifest.metadata) out["metadata"][key] = value;
  out["shards"] = Json::array();
  for (const checkpoint::Shard& shard : manifest.shards) {
    Json& entry = out["shards"].emplace_back();
    entry["file"] = shard.file;
    entry["bytes"] = shard.bytes;
  }
  out["tensors"] = Json::array();
  for (const std::string& name : tensors) {
    const TensorEntry* tensor = manifest.Find(name);
    if (tensor == nullptr) continue;
    Json& entry = out["tensors"].emplace_back();
    entry["name"] = name;
    entry["dtype"] = SafetensorsNameOf(tensor->info.dtype);
    entry["shape"] = tensor->info.shape;
    entry["bytes"] = BytesOf(*tensor);
    entry["by_rows"] = tensor->by_rows;
    entry["pieces"] = Json::array();
    for (const checkpoint::Piece& piece : tensor->pieces) {
      Json& part = entry["pieces"].emplace_back();
      part["shard"] = piece.shard;
      part["offset"] = piece.offset;
      part["bytes"] = piece.bytes;
      part["at"] = piece.at;
    }
  }
  return out;
}

std::string ChangesTable(const std::vector<TensorChange>& changes, bool colour) {
  Table table({{"TENSOR"}, {"CHANGE"}, {"BEFORE"}, {"AFTER"}});
  for (const TensorChange& change : changes) {
    table.AddRow({change.tensor, Word(change.change), TypeText(change.before), TypeText(change.after)});
  }
  return table.Render(colour);
}

Json ChangesJson(const std::vector<TensorChange>& changes) {
  Json out = Json::array();
  for (const TensorChange& change : changes) {
    Json& entry = out.emplace_back();
    entry["tensor"] = change.tensor;
    entry["change"] = Word(change.change);
    entry["before"] = TypeJson(change.before);
    entry["after"] = TypeJson(change.after);
  }
  return out;
}

}  // namespace glim::cli
