// Any bytes as a manifest, as they are and with the checksum that they would need: a manifest that keeps every promise
// of docs/reference/checkpoint-format.md and reads back to the same, or a refusal that can be printed. Whatever is
// taken is JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/format/manifest_json.h"
#include "tests/fuzz/holds.h"

namespace glim::checkpoint {
namespace {

using fuzz::Holds;

constexpr std::size_t kMessageBytesMax = 4096;

void CheckRefusal(const Status& status) {
  Holds(status.code() == StatusCode::kDataLoss, "a refusal's code", status.message());
  Holds(status.reason() == "BAD_MANIFEST", "a refusal's reason", status.message());
  for (const std::string& text : {status.message(), status.field(), status.fix()}) {
    Holds(text.size() <= kMessageBytesMax, "a refusal is short", text);
    Holds(std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; }), "a refusal is printable",
          text);
  }
}

// Every byte of a tensor once; every range in its shard, and no two share a byte.
void CheckRanges(const Manifest& manifest, bool whole) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> ends;
  for (const TensorEntry& entry : manifest.tensors) {
    const auto bytes = entry.info.bytes();
    Holds(bytes.ok(), "a size that can be said", entry.info.name);
    std::uint64_t sum = 0;
    for (const Piece& piece : entry.pieces) {
      Holds(whole ? piece.at == sum : piece.at + piece.bytes <= *bytes, "bytes in order", entry.info.name);
      sum += piece.bytes;
      const std::uint64_t chunks = (piece.bytes + kChunkBytes - 1) / kChunkBytes;
      Holds(piece.crc32c.size() == chunks, "a checksum a chunk", entry.info.name);
      Holds(piece.shard < manifest.shards.size(), "a shard that is there", entry.info.name);
      Holds(piece.offset + piece.bytes <= manifest.shards[piece.shard].bytes, "inside the shard", entry.info.name);
      Holds(ends.emplace(std::pair(piece.shard, piece.offset), piece.offset + piece.bytes).second, "bytes once");
    }
    Holds(whole ? sum == *bytes : sum <= *bytes, "all bytes", entry.info.name);
    Holds(manifest.Find(entry.info.name) == &entry, "found by name", entry.info.name);
  }
  std::pair<std::uint32_t, std::uint64_t> before = {0, 0};
  for (const auto& [begin, end] : ends) {
    Holds(begin.first != before.first || begin.second >= before.second, "no two pieces share a byte");
    before = {begin.first, end};
  }
  for (const Shard& shard : manifest.shards) {
    Holds(shard.file.find('/') == std::string::npos && !shard.file.starts_with('.'), "a plain name", shard.file);
  }
}

void CheckText(const std::string& text) {
  const auto manifest = ParseManifest(text);
  if (manifest.ok()) {
    Holds(nlohmann::json::accept(text), "what is taken is JSON", text);
    CheckRanges(*manifest, true);
    const auto again = ParseManifest(ToJson(*manifest));
    Holds(again.ok() && *again == *manifest, "reads back to the same", text);
  } else {
    CheckRefusal(manifest.status());
  }
  const auto part = ParsePart(text);
  if (part.ok()) {
    Holds(!manifest.ok(), "a part is no manifest", text);
    Holds(nlohmann::json::accept(text), "what is taken is JSON", text);
    CheckRanges(part->manifest, false);
    const auto again = ParsePart(ToJson(*part));
    Holds(again.ok() && *again == *part, "reads back to the same", text);
  } else {
    CheckRefusal(part.status());
  }
}

}  // namespace
}  // namespace glim::checkpoint

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  glim::checkpoint::CheckText(text);
  const std::string seal = ",\"manifest_crc32c\":";
  const std::string body = text.substr(0, text.rfind(seal));
  const std::uint32_t checksum = glim::checkpoint::Crc32c(std::as_bytes(std::span(body)));
  glim::checkpoint::CheckText(body + seal + std::to_string(checksum) + "}\n");
  return 0;
}
