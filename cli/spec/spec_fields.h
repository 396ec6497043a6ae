// Reads the typed values of one YAML mapping. The first fault is kept in the Status that all readers of a file share;
// after it every read returns its default, so that a section reads as a plain list of fields.
// Borrows the source's name, the tree and the Status; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/time.h"
#include "sdk/yaml/tree.h"

namespace glim::cli {

class FieldReader {
 public:
  using Check = std::function<Status(const std::string& field, const std::string& value)>;

  // `path` is "" for the top level, else the section's name. Refuses what is not a mapping, unknown keys and those
  // that this version does not support.
  FieldReader(std::string_view source, std::string path, const yaml::Node& mapping, Status* status);

  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // The value of a section, or nullptr when it is not there.
  const yaml::Node* Section(std::string_view key) const;

  std::string Text(std::string_view key, std::string fallback, const Check& check);
  std::string RequiredText(std::string_view key, const std::string& fix, const Check& check);
  std::string OneOf(std::string_view key, std::string_view fallback, std::span<const std::string_view> words);
  std::uint32_t Count(std::string_view key, std::uint32_t fallback, std::int64_t least, std::int64_t most);
  bool Flag(std::string_view key, bool fallback);
  // Bytes, as "512MiB" or "64GiB".
  std::int64_t Size(std::string_view key, std::int64_t fallback, std::int64_t least, std::int64_t most);
  // Thousandths of a CPU, from "16" or "1.5".
  std::int64_t CpuMillis(std::string_view key, std::int64_t fallback, std::int64_t least, std::int64_t most);
  Duration Time(std::string_view key, Duration fallback, Duration least, Duration most);
  // A list of at most `items_max` different texts.
  std::vector<std::string> List(std::string_view key, std::vector<std::string> fallback, std::size_t items_max,
                                const Check& check);

  // Keeps the first fault only.
  void Fail(yaml::Mark mark, std::string_view field, std::string_view message, std::string fix = "");
  // As Fail, for a fault that a check found; its field is taken over.
  void Fail(yaml::Mark mark, const Status& fault);
  void FailAt(std::string_view key, const Status& fault);

  std::string PathOf(std::string_view key) const;
  bool ok() const { return status_->ok(); }

  // A scalar's text; anything else is a fault that says what `wanted` is.
  std::string ScalarText(const yaml::Node& node, const std::string& field, std::string_view wanted);

 private:
  const yaml::Entry* Find(std::string_view key) const;
  void CheckKeys();
  std::string CheckedText(const yaml::Node& node, const std::string& field, const Check& check);

  std::string_view source_;
  std::string path_;
  const yaml::Node& mapping_;
  Status* status_;
};

}  // namespace glim::cli
