// The cluster's key: 32 random bytes in a file beside no database, which open what is sealed in the store (seal.h).
// Whoever has a copy of the store alone opens nothing; a second scheduler is given a copy of the file.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "sdk/base/result.h"

namespace glim::identity {

// Any thread: nothing changes it. Copies share the bytes, which are cleared when the last one goes. Never logged.
class ClusterKey {
 public:
  static constexpr std::size_t kBytes = 32;
  using Bytes = std::array<std::byte, kBytes>;
  explicit ClusterKey(const Bytes& bytes);

  const Bytes& bytes() const { return *bytes_; }
  // 8 hexadecimal digits that tell keys apart, and tell nothing of the key.
  std::string Id() const;

 private:
  std::shared_ptr<const Bytes> bytes_;
};

// 64 hexadecimal digits and a newline. NOT_FOUND (NO_KEY_FILE): there is none. PERMISSION_DENIED (NOT_PRIVATE): it is
// not ours or open to others. INVALID_ARGUMENT (BAD_KEY_FILE): it holds something else.
Result<ClusterKey> ReadClusterKey(const std::string& path);

// The same, and makes the file (0600) when there is none, with its folder (0700) when there is none. Of two schedulers
// that try at once one makes it, and both have the same key. Only for a store in which nothing is sealed yet: with
// another key than the one it was sealed with nothing there can be opened.
Result<ClusterKey> ReadOrMakeClusterKey(const std::string& path);

}  // namespace glim::identity
