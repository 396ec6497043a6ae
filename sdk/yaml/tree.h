// YAML text as a small immutable tree that remembers where everything stood: the one parser of Glim's YAML, whether a
// job's spec, a policy or a configuration. It takes text from anywhere.
//
// yaml-cpp's own Node keeps the last of two equal keys and expands aliases without a bound; this tree is built from
// its parser's events, refuses equal keys, tags and anything too large or too deep, and shares what an alias names.
// Value types; nodes are shared and never changed, so any thread may read them. yaml-cpp is seen by tree.cc and
// print.cc alone: its headers are slow to compile.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"

namespace glim::yaml {

// Counted from 1, as editors do.
struct Mark {
  int line = 1;
  int column = 1;
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Entry {
  std::string key;
  Mark mark;  // of the key
  NodePtr value;
};

struct Node {
  enum class Kind { kNull, kScalar, kSequence, kMapping };

  Kind kind = Kind::kNull;
  Mark mark;
  std::string scalar;          // as written, quotes resolved
  bool quoted = false;         // "4" is text, 4 is a number
  std::vector<NodePtr> items;  // of a sequence
  std::vector<Entry> entries;  // of a mapping, in the order written, no key twice
  int height = 1;              // levels below and with this one, aliases followed

  bool IsNull() const { return kind == Kind::kNull; }
  bool IsScalar() const { return kind == Kind::kScalar; }
  bool IsSequence() const { return kind == Kind::kSequence; }
  bool IsMapping() const { return kind == Kind::kMapping; }
  // The entry of `key`; nullptr if there is none.
  const Entry* Find(std::string_view key) const;
  // Where the value at `path` ("mounts[1].target") stands, or the longest part of the path that is there.
  Mark PlaceOf(std::string_view path) const;
};

// Whose text it is, for refusals.
struct Source {
  std::string_view name;                     // "job.yaml": messages begin with "job.yaml:3:1: "
  std::string_view reason = "INVALID_SPEC";  // of the refusal's Status
};

struct Limits {
  std::size_t bytes_max = 1 << 20;
  int depth_max = 16;
  std::size_t nodes_max = 50'000;
  std::size_t documents_max = 1000;
  bool aliases = true;  // may an anchor be named again?
};

// The documents of `text`, empty ones (null) left out. A refusal is kInvalidArgument.
Result<std::vector<NodePtr>> Parse(std::string_view text, const Source& source, const Limits& limits = {});
// The one document of `text`, without aliases; a null node if there is nothing in it.
Result<NodePtr> ParseOne(std::string_view text, const Source& source);

// The refusal of what stands at `mark`: "NAME:LINE:COLUMN: message".
Status RefuseIn(const Source& source, Mark mark, std::string field, std::string_view message, std::string fix = "");

// "a mapping", "a list", "nothing", "'x'", "the text \"4\"": what was found, for messages.
std::string DescribeFound(const Node& node);

}  // namespace glim::yaml
