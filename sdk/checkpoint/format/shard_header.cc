#include "sdk/checkpoint/format/shard_header.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sdk/base/little_endian.h"
#include "sdk/base/printable.h"
#include "sdk/checkpoint/format/damaged.h"
#include "sdk/checkpoint/format/json_reader.h"
#include "sdk/checkpoint/format/json_writer.h"

namespace glim::checkpoint {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kBadShard = "BAD_SHARD";

Status Bad(const std::string& message) { return Damaged(kBadShard, "", message); }

void AppendEntry(std::string& json, const ShardEntry& entry) {
  AppendQuoted(json, entry.name);
  json += ":{\"dtype\":\"";
  json += SafetensorsNameOf(entry.dtype);
  json += "\",\"shape\":[";
  for (std::size_t i = 0; i < entry.shape.size(); ++i) {
    if (i > 0) json += ',';
    AppendNumber(json, entry.shape[i]);
  }
  json += "],\"data_offsets\":[";
  AppendNumber(json, entry.begin);
  json += ',';
  AppendNumber(json, entry.end);
  json += "]}";
}

DType ReadDType(JsonReader& reader) {
  const std::string name = reader.String();
  const std::optional<DType> dtype = DTypeOfSafetensors(name);
  if (!dtype) reader.Fail("the type \"" + Printable(name) + "\" is unknown");
  return dtype.value_or(DType::kF32);
}

void ReadEntry(JsonReader& reader, ShardEntry& entry) {
  constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};
  std::size_t offsets = 0;
  reader.Fields(kFields, kFields.size(), [&](std::size_t field) {
    if (field == 0) {
      entry.dtype = ReadDType(reader);
    } else if (field == 1) {
      reader.Array([&](std::size_t) {
        entry.shape.push_back(reader.Number(kTensorBytesMax));
        if (entry.shape.size() > kDimensionsMax) reader.Fail("at most 16 dimensions");
      });
    } else {
      reader.Array([&](std::size_t i) {
        (i == 0 ? entry.begin : entry.end) = reader.Number(kTensorBytesMax);
        if (++offsets > 2) reader.Fail("two offsets, begin and end");
      });
      if (offsets < 2) reader.Fail("two offsets, begin and end");
    }
  });
  if (!reader.ok()) return;
  const std::optional<std::uint64_t> bytes = BytesOf(entry.dtype, entry.shape);
  if (!bytes || entry.end < entry.begin || entry.end - entry.begin != *bytes) {
    reader.Fail("the offsets are not as far apart as type and shape say");
  }
}

// Two entries of one name, or of none.
Status CheckNames(const std::vector<ShardEntry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const ShardEntry& entry : entries) names.push_back(entry.name);
  if (!std::is_sorted(names.begin(), names.end())) std::sort(names.begin(), names.end());  // as our writers leave them
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return Status::Ok();
  return Bad("the header has \"" + Printable(*twice) + "\" twice");
}

// The entries, by `begin`, are the data: from its first byte to its last, without a hole.
Status CheckCover(const std::vector<ShardEntry>& entries, std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const ShardEntry& entry : entries) {
    if (entry.begin != end) {
      return Bad("\"" + Printable(entry.name) + "\" begins at " + std::to_string(entry.begin) + " of the data, " +
                 (entry.begin < end ? "inside another array" : "after a hole") + ": expected " + std::to_string(end));
    }
    end = entry.end;
  }
  if (end == data_bytes) return Status::Ok();
  return Bad("the header describes " + std::to_string(end) + " bytes of data, the file has " +
             std::to_string(data_bytes));
}

}  // namespace

Result<std::string> BuildShardHeader(const std::vector<ShardEntry>& entries) {
  std::string header(kLengthBytes, '\0');
  std::size_t expected_bytes = kDataAlignment;
  for (const ShardEntry& entry : entries) expected_bytes += entry.name.size() + 100;
  header.reserve(std::min(expected_bytes, kHeaderBytesMax));
  header += '{';
  std::uint64_t end = 0;
  for (const ShardEntry& entry : entries) {
    GLIM_CHECK(entry.begin == end && entry.end >= end, "entries lie end to end");
    end = entry.end;
    if (header.size() > kLengthBytes + 1) header += ',';
    AppendEntry(header, entry);
    if (header.size() > kHeaderBytesMax) break;
  }
  header += '}';
  header.resize((header.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment, ' ');
  if (header.size() - kLengthBytes > kHeaderBytesMax) {
    return Status(StatusCode::kResourceExhausted, "the shard would have more arrays (" +
                                                      std::to_string(entries.size()) +
                                                      ") than a header of 100 MB can list")
        .WithReason("TOO_MANY_TENSORS")
        .WithFix("save fewer and larger tensors, or on more ranks");
  }
  std::string length;
  AppendLittleEndian(length, std::uint64_t{header.size() - kLengthBytes});
  header.replace(0, kLengthBytes, length);
  return header;
}

Result<std::uint64_t> ShardHeaderBytes(std::span<const std::byte, 8> first, std::uint64_t file_bytes) {
  const std::uint64_t length = FromLittleEndian({reinterpret_cast<const char*>(first.data()), kLengthBytes});
  if (length > kHeaderBytesMax) {
    return Bad("a header of " + std::to_string(length) + " bytes is not possible: at most " +
               std::to_string(kHeaderBytesMax));
  }
  if (file_bytes < kLengthBytes || length > file_bytes - kLengthBytes) {
    return Bad("a header of " + std::to_string(length) + " bytes in a file of " + std::to_string(file_bytes));
  }
  return kLengthBytes + length;
}

Result<ShardHeader> ParseShardHeader(std::string_view start, std::uint64_t file_bytes) {
  const auto too_short = [](std::uint64_t needed) {
    return Status(StatusCode::kOutOfRange, "the first " + std::to_string(needed) + " bytes are needed");
  };
  if (file_bytes < kLengthBytes) return Bad("a file of " + std::to_string(file_bytes) + " bytes is no shard");
  if (start.size() < kLengthBytes) return too_short(kLengthBytes);
  const auto bytes = std::as_bytes(std::span(start.data(), start.size()));
  const Result<std::uint64_t> needed = ShardHeaderBytes(bytes.first<kLengthBytes>(), file_bytes);
  if (!needed.ok()) return needed.status();
  if (start.size() < *needed) return too_short(*needed);

  ShardHeader header{.data_start = *needed, .entries = {}};
  const std::string_view json = start.substr(kLengthBytes, *needed - kLengthBytes);
  if (!json.starts_with('{')) return Bad("the header does not begin with '{'");
  JsonReader reader(json, kBadShard);
  bool has_metadata = false;
  reader.Members([&](const std::string& name) {
    if (name == kMetadata) {
      if (std::exchange(has_metadata, true)) reader.Fail("is there twice");
      reader.Members([&](const std::string&) { reader.String(); });
      return;
    }
    header.entries.push_back({.name = name, .dtype = {}, .shape = {}, .begin = 0, .end = 0});
    ReadEntry(reader, header.entries.back());
  });
  reader.End();
  if (!reader.ok()) return reader.fault();
  const auto is_before = [](const ShardEntry& a, const ShardEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  };
  if (!std::is_sorted(header.entries.begin(), header.entries.end(), is_before)) {
    std::stable_sort(header.entries.begin(), header.entries.end(), is_before);
  }
  if (const Status status = CheckNames(header.entries); !status.ok()) return status;
  if (const Status status = CheckCover(header.entries, file_bytes - *needed); !status.ok()) return status;
  return header;
}

}  // namespace glim::checkpoint
