// What this node sees of the checkpoint root, a folder that all nodes are to share: the content of the marker in it.
// Two nodes that read the same content see the same folder. Stateless; it blocks for as long as the storage does.
#pragma once

#include <string>

namespace glim::nodeagent {

inline constexpr std::size_t kMarkerNameBytesMax = 128;
inline constexpr std::size_t kMarkerDigits = 32;

struct RootAnswer {
  std::string marker;  // its content; empty: see `error`
  std::string error;
  friend bool operator==(const RootAnswer&, const RootAnswer&) = default;
};

// Makes the marker, whole, where the root is there and the marker is not: of several who do so at once one wins, and
// all read that one's. Never makes the root: an unmounted folder must not look like a shared one.
// As root it makes ROOT/jobs and ROOT/snapshots where they are missing, before a user does (sdk/io/trusted_folder.h).
RootAnswer CheckRoot(const std::string& root, const std::string& marker);

// What one process tells another of it.
std::string ToRecord(const RootAnswer& answer);
RootAnswer ParseRootRecord(const std::string& record);

}  // namespace glim::nodeagent
