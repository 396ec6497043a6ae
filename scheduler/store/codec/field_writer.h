// Writes rows as JSON text by their field lists (row_fields.h).
//
// Straight into the text and without a tree between: the scheduler's strand encodes every row of every commit, and a
// job costs about 3 us this way. Strings that need care go through nlohmann.
#pragma once

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/codec/row_fields.h"
#include "sdk/base/check.h"
#include "sdk/base/hex.h"

namespace glim::store {

// With its quotes, always valid JSON: bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);

class FieldWriter {
 public:
  static constexpr bool kWrites = true;

  explicit FieldWriter(std::string& out) : out_(out) {}

  // `key` is one of ours: it needs no escaping.
  template <typename T>
  void Field(const char* key, const T& value) {
    out_ += first_ ? "{\"" : ",\"";
    first_ = false;
    out_ += key;
    out_ += "\":";
    Write(value);
  }
  template <typename T>
  void Required(const char* key, const T& value) {
    Field(key, value);
  }
  // Left out where it is what a reader has anyway.
  template <typename T>
  void Sparse(const char* key, const T& value, const T& unset = T{}) {
    if (!(value == unset)) Field(key, value);
  }

  // Any bytes.
  void Hex(const char* key, const std::string& bytes) { Field(key, HexText(bytes)); }

  void Close() { out_ += first_ ? "{}" : "}"; }

 private:
  void Write(bool value) { out_ += value ? "true" : "false"; }
  void Write(const std::string& value) { AppendJsonString(out_, value); }
  void Write(TimePoint value) { Write(value.ms); }
  void Write(Duration value) { Write(value.ms); }

  template <typename Tag, typename Rep>
  void Write(StrongId<Tag, Rep> value) {
    Write(value.value);
  }

  // Of Sparse fields alone: a missing key is nothing.
  template <typename T>
  void Write(const std::optional<T>& value) {
    Write(*value);
  }

  void Write(core::AttemptId value) {
    out_ += '[';
    Write(value.job);
    out_ += ',';
    Write(value.number);
    out_ += ']';
  }

  void Write(core::TaskId value) {
    out_ += '[';
    Write(value.attempt.job);
    out_ += ',';
    Write(value.attempt.number);
    out_ += ',';
    Write(value.index);
    out_ += ']';
  }

  void Write(const std::pair<std::string, std::string>& value) {
    out_ += '[';
    Write(value.first);
    out_ += ',';
    Write(value.second);
    out_ += ']';
  }

  void Write(const core::UseTotals& value) {
    FieldWriter object(out_);
    for (std::size_t use = 0; use < value.size(); ++use) {
      object.Field(core::WordOf(static_cast<core::Use>(use)), value[use]);
    }
    object.Close();
  }

  template <typename T>
  void Write(const std::vector<T>& values) {
    out_ += '[';
    bool first = true;
    for (const T& value : values) {
      if (!first) out_ += ',';
      first = false;
      Write(value);
    }
    out_ += ']';
  }

  void Write(const std::shared_ptr<const core::JobSpec>& value) {
    GLIM_CHECK(value != nullptr, "a job without its spec");
    Write(*value);
  }

  template <typename T>
  void Write(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      const char* name = core::WordOf(value);
      GLIM_CHECK(name != nullptr, "an enumerator that does not exist");
      out_ += '"';
      out_ += name;
      out_ += '"';
    } else if constexpr (std::is_integral_v<T>) {
      char digits[24];
      out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    } else {
      FieldWriter object(out_);
      Fields(object, value);
      object.Close();
    }
  }

  std::string& out_;
  bool first_ = true;
};

}  // namespace glim::store
