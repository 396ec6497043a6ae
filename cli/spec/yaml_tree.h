// YAML text as a small immutable tree that remembers where everything stood.
//
// yaml-cpp's own Node keeps the last of two equal keys and expands aliases without a bound; this tree is built from
// its parser's events, refuses equal keys, tags and anything too large or too deep, and shares what an alias names.
// Value types; nodes are shared and never changed, so any thread may read them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"

namespace glim::cli {

// Counted from 1, as editors do.
struct YamlMark {
  int line = 1;
  int column = 1;
};

struct YamlNode;
using YamlPtr = std::shared_ptr<const YamlNode>;

struct YamlEntry {
  std::string key;
  YamlMark mark;
  YamlPtr value;
};

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMapping };

  Kind kind = Kind::kNull;
  YamlMark mark;
  std::string scalar;              // as written, quotes resolved
  bool quoted = false;             // "4" is text, 4 is a number
  std::vector<YamlPtr> items;      // of a sequence
  std::vector<YamlEntry> entries;  // of a mapping, in the order written, no key twice
  int height = 1;                  // levels below and with this one, aliases followed
};

struct YamlLimits {
  std::size_t bytes_max = 1 << 20;
  int depth_max = 16;
  std::size_t nodes_max = 50'000;
  std::size_t documents_max = 1000;
};

// The documents of `text`, empty ones (null) left out. `source` is the file's name, for messages
// ("job.yaml:3:1: ..."). An error is kInvalidArgument with reason INVALID_SPEC.
Result<std::vector<YamlPtr>> ParseYaml(std::string_view text, std::string_view source, const YamlLimits& limits = {});

// The status of a fault at `mark`: field, and a message that begins with "source:line:column: ".
Status YamlError(std::string_view source, YamlMark mark, std::string field, std::string_view message,
                 std::string fix = "");

// "a mapping", "a list", "nothing", "the number 4", "the text 'x'": what was found, for messages.
std::string DescribeFound(const YamlNode& node);

}  // namespace glim::cli
