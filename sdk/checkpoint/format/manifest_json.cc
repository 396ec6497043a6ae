// The manifest's text. Its last member is a checksum of all that precedes it, so that a changed digit of a step is
// found as surely as a changed byte of a tensor.
#include "sdk/checkpoint/format/manifest_json.h"

#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "sdk/base/printable.h"
#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/format/damaged.h"
#include "sdk/checkpoint/format/json_reader.h"
#include "sdk/checkpoint/format/json_writer.h"
#include "sdk/checkpoint/format/manifest_check.h"

namespace glim::checkpoint {
namespace {

constexpr std::string_view kFormat = "glim-checkpoint";
constexpr std::uint64_t kVersion = 1;
constexpr std::string_view kReason = "BAD_MANIFEST";
constexpr std::string_view kSeal = ",\"manifest_crc32c\":";
constexpr std::uint64_t kU32Max = 0xFFFF'FFFF;
constexpr std::uint64_t kI64Max = 0x7FFF'FFFF'FFFF'FFFF;

constexpr std::array<std::string_view, 11> kFields = {"format",     "version",         "attempt",  "step",
                                                      "world_size", "created_at_ms",   "metadata", "shards",
                                                      "tensors",    "manifest_crc32c", "rank"};
constexpr std::array<std::string_view, 3> kShardFields = {"file", "bytes", "header_crc32c"};
constexpr std::array<std::string_view, 5> kTensorFields = {"name", "dtype", "shape", "pieces", "by_rows"};
constexpr std::array<std::string_view, 5> kPieceFields = {"shard", "offset", "bytes", "at", "crc32c"};

std::uint32_t ChecksumOf(std::string_view text) { return Crc32c(std::as_bytes(std::span(text.data(), text.size()))); }

void AppendMember(std::string& out, std::string_view lead, std::uint64_t number) {
  out += lead;
  AppendNumber(out, number);
}

template <typename List>
void AppendNumbers(std::string& out, const List& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    AppendNumber(out, numbers[i]);
  }
}

void AppendTensor(std::string& out, const TensorEntry& entry) {
  out += "{\"name\":";
  AppendQuoted(out, entry.info.name);
  out += ",\"dtype\":\"";
  out += SafetensorsNameOf(entry.info.dtype);
  out += "\",\"shape\":[";
  AppendNumbers(out, entry.info.shape);
  out += entry.by_rows ? "],\"by_rows\":true,\"pieces\":[" : "],\"pieces\":[";
  for (std::size_t k = 0; k < entry.pieces.size(); ++k) {
    const Piece& piece = entry.pieces[k];
    AppendMember(out, k == 0 ? "{\"shard\":" : ",{\"shard\":", piece.shard);
    AppendMember(out, ",\"offset\":", piece.offset);
    AppendMember(out, ",\"bytes\":", piece.bytes);
    AppendMember(out, ",\"at\":", piece.at);
    out += ",\"crc32c\":[";
    AppendNumbers(out, piece.crc32c);
    out += "]}";
  }
  out += "]}";
}

std::string Text(const Manifest& manifest, const std::uint32_t* rank) {
  std::string out = "{\"format\":\"" + std::string(kFormat) + "\"";
  AppendMember(out, ",\"version\":", kVersion);
  if (rank != nullptr) AppendMember(out, ",\"rank\":", *rank);
  AppendMember(out, ",\"attempt\":", manifest.attempt);
  AppendMember(out, ",\"step\":", manifest.step);
  AppendMember(out, ",\"world_size\":", manifest.world_size);
  AppendMember(out, ",\"created_at_ms\":", static_cast<std::uint64_t>(manifest.created_at_ms));
  out += ",\n\"metadata\":{";
  const char* separator = "";
  for (const auto& [key, value] : manifest.metadata) {
    out += std::exchange(separator, ",");
    AppendQuoted(out, key);
    out += ':';
    AppendQuoted(out, value);
  }
  out += "},\n\"shards\":[";
  separator = "\n";
  for (const Shard& shard : manifest.shards) {
    out += std::exchange(separator, ",\n");
    out += "{\"file\":";
    AppendQuoted(out, shard.file);
    AppendMember(out, ",\"bytes\":", shard.bytes);
    AppendMember(out, ",\"header_crc32c\":", shard.header_crc32c);
    out += '}';
  }
  out += "],\n\"tensors\":[";
  separator = "\n";
  for (const TensorEntry& entry : manifest.tensors) {
    out += std::exchange(separator, ",\n");
    AppendTensor(out, entry);
  }
  out += "]\n";
  const std::uint32_t checksum = ChecksumOf(out);
  AppendMember(out, kSeal, checksum);
  out += "}\n";
  return out;
}

void ReadShard(JsonReader& reader, Shard& shard) {
  reader.Fields(kShardFields, kShardFields.size(), [&](std::size_t field) {
    switch (field) {
      case 0: shard.file = reader.String(); break;
      case 1: shard.bytes = reader.Number(kTensorBytesMax); break;
      default: shard.header_crc32c = static_cast<std::uint32_t>(reader.Number(kU32Max)); break;
    }
  });
}

void ReadPiece(JsonReader& reader, Piece& piece) {
  reader.Fields(kPieceFields, kPieceFields.size(), [&](std::size_t field) {
    switch (field) {
      case 0: piece.shard = static_cast<std::uint32_t>(reader.Number(kU32Max)); break;
      case 1: piece.offset = reader.Number(kTensorBytesMax); break;
      case 2: piece.bytes = reader.Number(kTensorBytesMax); break;
      case 3: piece.at = reader.Number(kTensorBytesMax); break;
      default:
        reader.Array([&](std::size_t) { piece.crc32c.push_back(static_cast<std::uint32_t>(reader.Number(kU32Max))); });
        break;
    }
  });
}

void ReadTensor(JsonReader& reader, TensorEntry& entry) {
  reader.Fields(kTensorFields, kTensorFields.size() - 1, [&](std::size_t field) {
    switch (field) {
      case 0: entry.info.name = reader.String(); break;
      case 1: {
        const std::string name = reader.String();
        const std::optional<DType> dtype = DTypeOfSafetensors(name);
        if (!dtype) reader.Fail("the type \"" + Printable(name) + "\" is unknown");
        entry.info.dtype = dtype.value_or(DType::kF32);
        break;
      }
      case 2:
        reader.Array([&](std::size_t i) {
          if (i >= kDimensionsMax) reader.Fail("at most 16 dimensions");
          entry.info.shape.push_back(reader.Number(kTensorBytesMax));
        });
        break;
      case 3: reader.Array([&](std::size_t) { ReadPiece(reader, entry.pieces.emplace_back()); }); break;
      default: entry.by_rows = reader.Bool(); break;
    }
  });
}

void ReadMetadata(JsonReader& reader, std::map<std::string, std::string>& metadata) {
  reader.Members([&](const std::string& key) {
    if (!metadata.emplace(key, reader.String()).second) reader.Fail("is there twice");
  });
}

void ReadField(JsonReader& reader, std::size_t field, Part& part) {
  Manifest& manifest = part.manifest;
  switch (field) {
    case 0:
      if (const std::string format = reader.String(); format != kFormat) {
        reader.Fail("\"" + Printable(format) + "\" is not \"" + std::string(kFormat) + "\"");
      }
      break;
    case 1:
      if (const std::uint64_t version = reader.Number(kU32Max); version != kVersion) {
        reader.Fail("version " + std::to_string(version) + " is unknown: this library reads version 1");
      }
      break;
    case 2: manifest.attempt = static_cast<std::uint32_t>(reader.Number(kU32Max)); break;
    case 3: manifest.step = reader.Number(kI64Max); break;
    case 4: manifest.world_size = static_cast<std::uint32_t>(reader.Number(kU32Max)); break;
    case 5: manifest.created_at_ms = static_cast<std::int64_t>(reader.Number(kI64Max)); break;
    case 6: ReadMetadata(reader, manifest.metadata); break;
    case 7: reader.Array([&](std::size_t) { ReadShard(reader, manifest.shards.emplace_back()); }); break;
    case 8: reader.Array([&](std::size_t) { ReadTensor(reader, manifest.tensors.emplace_back()); }); break;
    case 9: reader.Number(kU32Max); break;  // CheckSeal has seen it
    default: part.rank = static_cast<std::uint32_t>(reader.Number(kU32Max)); break;
  }
}

// The text ends with a checksum of what is before it. (No string can look like that member: its quotes are escaped.)
Status CheckSeal(std::string_view json) {
  const std::size_t seal = json.rfind(kSeal);
  if (seal == std::string_view::npos || !json.ends_with("}\n")) {
    return Damaged(kReason, "manifest_crc32c", "the text does not end with its checksum: it was cut short");
  }
  const std::string_view digits = json.substr(seal + kSeal.size(), json.size() - seal - kSeal.size() - 2);
  std::uint32_t stated = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), stated);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Damaged(kReason, "manifest_crc32c", "no number of 32 bits");
  }
  if (ChecksumOf(json.substr(0, seal)) == stated) return Status::Ok();
  return Damaged(kReason, "manifest_crc32c", "the text is not as it was written: its checksum is another");
}

Result<Part> Read(std::string_view json, Extent extent) {
  if (json.size() > kManifestBytesMax) return Damaged(kReason, "", "longer than 1 GiB");
  if (Status status = CheckSeal(json); !status.ok()) return status;
  const bool is_part = extent == Extent::kPart;
  const std::span<const std::string_view> fields = std::span(kFields).first(kFields.size() - (is_part ? 0 : 1));
  Part part;
  JsonReader reader(json, kReason);
  reader.Fields(fields, fields.size(), [&](std::size_t field) { ReadField(reader, field, part); });
  reader.End();
  if (!reader.ok()) return reader.fault();
  if (Status status = CheckManifest(part.manifest, extent); !status.ok()) return status;
  if (is_part && part.rank >= part.manifest.world_size) return Damaged(kReason, "rank", "not below world_size");
  return part;
}

}  // namespace

std::string ToJson(const Manifest& manifest) { return Text(manifest, nullptr); }

std::string ToJson(const Part& part) { return Text(part.manifest, &part.rank); }

Result<Manifest> ParseManifest(std::string_view json) {
  Result<Part> part = Read(json, Extent::kWhole);
  if (!part.ok()) return part.status();
  return std::move(*part).manifest;
}

Result<Part> ParsePart(std::string_view json) { return Read(json, Extent::kPart); }

}  // namespace glim::checkpoint
