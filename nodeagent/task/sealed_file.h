// The files of the agent's state folder, whole or recognised as not: a power cut may leave a file empty, cut off, or
// with pages that were never written, and another version of Glim one of a format that this version does not know.
//
// A JSON object carries the checksum of what precedes it as its last member, so that any reader of JSON reads it; one
// without (of an earlier version) is believed. Stateless functions; the folder is private, so the checksum is against
// accidents and not against anybody.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/base/result.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {

// 64 bits (FNV-1a).
std::uint64_t Checksum(std::string_view bytes);
// As 16 hex digits.
std::string ChecksumText(std::string_view bytes);

// `object` is a JSON object's text with at least one member; with its checksum.
std::string SealObject(const std::string& object);
Status WriteSealed(const std::string& path, const std::string& object, Durability durability);
// NOT_FOUND: there is no such file. DATA_LOSS: it is empty, or its checksum is not that of its bytes.
Result<std::string> ReadSealed(const std::string& path, std::size_t bytes_max);
// `text` as read before. DATA_LOSS: its checksum is not that of its bytes, or it is empty.
Status CheckSeal(const std::string& path, const std::string& text);

// Moves what cannot be used out of the way, for an operator to look at: STATE_DIR/set-aside/tasks_7.1.0_launch.json.1.
// Of one name the first nine are kept, and the newest. Returns the new path; empty: it could not be moved.
std::string SetAside(const std::string& state_dir, const std::string& path);

}  // namespace glim::nodeagent
