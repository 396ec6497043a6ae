// The keys of a job file, section by section, each with its field of glim.v1.JobSpec, its kind and its default: the one
// table behind the reader, the printer, "unknown key" and "did you mean". deploy/job.schema.json says the same (test).
// Bounds of amounts: core::kAmountRanges. A new key: README.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace glim::jobfile {

enum class KeyKind : std::uint8_t {
  kText,
  kCount,
  kTime,
  kSize,
  kCpus,
  kFlag,
  kMoment,  // a point in time, with its zone
  kTexts,   // a list of different texts
  kOwn,     // a section or a form of its own: reader and printer have code for it
  kRefused  // of the format, and refused by this version instead of being ignored
};

// Whether the reader takes the key by its row alone, or has code for it (a default that depends, a rule).
enum class Reading : std::uint8_t { kByRow, kApart };

struct SpecKey {
  std::string_view name;
  KeyKind kind = KeyKind::kOwn;
  std::string_view field{};     // its path in the message: "interrupt.grace_ms"
  std::string_view fallback{};  // what a file that does not have the key says; empty: nothing
  Reading reading = Reading::kByRow;
};

struct SpecSection {
  std::string_view path;  // "" for the top level; "mounts[]" for each item of a list
  std::span<const SpecKey> keys;
};

std::span<const SpecSection> SpecSections();

// The section at `path` ("interrupt", "mounts[3]"); asking for one that does not exist is a bug (CHECK).
const SpecSection& FindSpecSection(std::string_view path);

// A key of the section; asking for one that does not exist is a bug (CHECK).
const SpecKey& FindSpecKey(std::string_view path, std::string_view name);

// How to mend an unknown `key` of section `path`: "did you mean 'nodes'?", "did you mean 'interrupt.grace'?", or the
// list of the section's keys.
std::string SuggestSpecKey(std::string_view path, std::string_view key);

}  // namespace glim::jobfile
