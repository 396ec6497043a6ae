// Any bytes as a shard's header, before some bytes of data: a header whose arrays are all of the data once, or a
// refusal that can be printed. The first byte of the input is the number of data bytes; the length before the header is
// either the right one or the input's own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sdk/checkpoint/format/shard_header.h"
#include "tests/fuzz/holds.h"

namespace glim::checkpoint {
namespace {

using fuzz::Holds;

constexpr std::size_t kMessageBytesMax = 4096;

void CheckRefusal(const Status& status, bool may_be_short) {
  Holds(status.code() == StatusCode::kDataLoss || (may_be_short && status.code() == StatusCode::kOutOfRange),
        "a refusal's code", status.message());
  for (const std::string& text : {status.message(), status.field(), status.fix()}) {
    Holds(text.size() <= kMessageBytesMax, "a refusal is short", text);
    Holds(std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; }), "a refusal is printable",
          text);
  }
}

void CheckHeader(const ShardHeader& header, std::uint64_t file_bytes) {
  std::set<std::string> names;
  std::uint64_t end = 0;
  for (const ShardEntry& entry : header.entries) {
    Holds(names.insert(entry.name).second, "each name once", entry.name);
    Holds(entry.begin == end && entry.end >= end, "no hole and no overlap", entry.name);
    Holds(BytesOf(entry.dtype, entry.shape) == entry.end - entry.begin, "size as shape and type say", entry.name);
    end = entry.end;
  }
  Holds(header.data_start + end == file_bytes, "all of the data");
  const auto built = BuildShardHeader(header.entries);
  Holds(built.ok(), "can be written again");
  const auto again = ParseShardHeader(*built, built->size() + end);
  Holds(again.ok() && again->entries == header.entries, "reads back to the same");
}

void CheckStart(const std::string& start, std::uint64_t file_bytes, bool framed) {
  const auto header = ParseShardHeader(start, file_bytes);
  if (!header.ok()) return CheckRefusal(header.status(), !framed);
  if (framed) Holds(nlohmann::json::accept(start.substr(8)), "what is taken is JSON", start);
  CheckHeader(*header, file_bytes);
}

}  // namespace
}  // namespace glim::checkpoint

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::uint64_t length = text.size();
  std::string framed(sizeof(length), '\0');
  std::memcpy(framed.data(), &length, sizeof(length));
  framed += text;
  glim::checkpoint::CheckStart(framed, framed.size() + data[0], true);
  glim::checkpoint::CheckStart(text, text.size() + data[0], false);
  return 0;
}
