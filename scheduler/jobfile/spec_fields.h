// Reads the typed values of one YAML mapping; what they may be is core::ValidateSpec's business. The first fault is
// kept in the Status that all readers of a file share; after it every read returns its default, so that a section reads
// as a plain list of fields. Borrows the source's name, the tree and the Status; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/time.h"
#include "sdk/yaml/tree.h"

namespace glim::jobfile {

inline constexpr std::size_t kCharsShown = 64;  // of a text that a message quotes

class FieldReader {
 public:
  // `path` is "" for the top level, else the section's name. Refuses what is not a mapping, unknown keys and those
  // that this version does not support.
  FieldReader(std::string_view source, std::string path, const yaml::Node& mapping, Status* status);

  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // The value of a section, or nullptr when it is not there.
  const yaml::Node* Section(std::string_view key) const;

  std::string Text(std::string_view key, std::string fallback);
  std::string RequiredText(std::string_view key, const std::string& fix);
  // For words that the reader itself gives a meaning; the others are the validator's.
  std::string OneOf(std::string_view key, std::string_view fallback, std::span<const std::string_view> words);
  // Amounts have a row in core::kAmountRanges and are held to it here: on the wire 0 means "not said".
  std::uint32_t Count(std::string_view key, std::uint32_t fallback);
  // Bytes, as "512MiB" or "64GiB".
  std::int64_t Size(std::string_view key, std::int64_t fallback);
  // Thousandths of a CPU, from "16" or "1.5".
  std::int64_t CpuMillis(std::string_view key, std::int64_t fallback);
  Duration Time(std::string_view key, Duration fallback);
  bool Flag(std::string_view key, bool fallback);
  // A list of different texts.
  std::vector<std::string> List(std::string_view key, std::vector<std::string> fallback);

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
  std::string TextOf(const yaml::Node& node, const std::string& field);
  // `value` if it is within the field's range, else `fallback` and a fault.
  std::int64_t Amount(const yaml::Node& node, const std::string& field, std::int64_t value, std::int64_t fallback);

  std::string_view source_;
  std::string path_;
  const yaml::Node& mapping_;
  Status* status_;
};

}  // namespace glim::jobfile
