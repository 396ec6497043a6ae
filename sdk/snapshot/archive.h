// A folder as one archive (tar, compressed with zstd), and back. The same content gives the same bytes: entries come in
// the caller's order, without times and owners. The caller says which entries; names are bytes, in any encoding.
//
// Both take their time and memory for a whole archive (at most kSnapshotArchiveBytesMax). Errors name the entry.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"

namespace glim::snapshot {

struct Entry {
  enum class Kind { kFile, kFolder, kLink };
  std::string path;  // relative to the folder, without "." and ".."
  Kind kind = Kind::kFile;
  friend auto operator<=>(const Entry&, const Entry&) = default;
};

struct Packed {
  std::string bytes;
  std::int64_t content_bytes = 0;  // of the files in it
};

// `entries` are sorted by path, and each folder is there before what lies in it. Follows no link. A file that is larger
// by now than the limit allows, an entry that has become something else or that cannot be read: INVALID_ARGUMENT.
Result<Packed> Pack(const std::string& folder, const std::vector<Entry>& entries);

// Into the folder that the descriptor `folder` is of; it is empty. All belongs to the user of this process; permission
// bits are kept, but the owner may always list and change a folder. DATA_LOSS: no archive of ours. INVALID_ARGUMENT: it
// has what none may have (names or links that lead out of it, devices, too much). What was unpacked until then stays.
// The process's current folder is another one meanwhile: not beside other threads.
Status Unpack(std::string_view archive, int folder);

}  // namespace glim::snapshot
