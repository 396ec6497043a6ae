// Reads rows from parsed JSON by their field lists (row_fields.h). Keys that it does not know are passed over; a
// missing key leaves the default unless it is required. What is of the wrong type, out of range or an unknown name
// fails, with the path of the field: guessing at a state could start a job twice.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/codec/row_fields.h"

namespace glim::store {

class FieldReader {
 public:
  static constexpr bool kWrites = false;
  using Json = nlohmann::json;

  // Both must outlive the reader. `error` receives the first failure, as "agreements[1].state: unknown name \"x\"".
  FieldReader(const Json& object, std::string& error) : object_(object), error_(error) {}

  template <typename T>
  void Field(const char* key, T& value) {
    ReadField(key, value, false);
  }
  template <typename T>
  void Required(const char* key, T& value) {
    ReadField(key, value, true);
  }
  template <typename T>
  void Sparse(const char* key, T& value, const T& /*unset*/ = T{}) {
    ReadField(key, value, false);
  }
  void Hex(const char* key, std::string& bytes) {
    std::string text;
    ReadField(key, text, true);
    if (!error_.empty()) return;
    auto parsed = FromHex(text);
    if (!parsed) {
      error_ = std::string(key) + ": expected hexadecimal digits";
    } else {
      bytes = std::move(*parsed);
    }
  }

 private:
  static std::optional<std::string> FromHex(const std::string& text) {
    const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
    if (text.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
      const int high = digit(text[i]), low = digit(text[i + 1]);
      if (high < 0 || low < 0) return std::nullopt;
      bytes += static_cast<char>(high * 16 + low);
    }
    return bytes;
  }

  template <typename T>
  void ReadField(const char* key, T& value, bool required) {
    if (!error_.empty()) return;
    const auto it = object_.find(key);
    if (it == object_.end()) {
      if (required) error_ = std::string(key) + ": missing";
    } else if (!Read(*it, value)) {
      error_ = std::string(key) + Joint() + error_;
    }
  }

  // Between a field's name and what went wrong inside it.
  const char* Joint() const { return error_.starts_with(':') || error_.starts_with('[') ? "" : "."; }

  bool Fail(const std::string& what) {
    error_ = ": " + what;
    return false;
  }

  bool Read(const Json& json, bool& value) {
    if (!json.is_boolean()) return Fail("expected true or false");
    value = json.get<bool>();
    return true;
  }

  bool Read(const Json& json, std::string& value) {
    if (!json.is_string()) return Fail("expected a string");
    value = json.get_ref<const std::string&>();
    return true;
  }

  bool Read(const Json& json, TimePoint& value) { return Read(json, value.ms); }
  bool Read(const Json& json, Duration& value) { return Read(json, value.ms); }

  template <typename Tag, typename Rep>
  bool Read(const Json& json, StrongId<Tag, Rep>& value) {
    return Read(json, value.value);
  }

  template <typename T>
  bool Read(const Json& json, std::optional<T>& value) {
    return Read(json, value.emplace());
  }

  bool Read(const Json& json, core::AttemptId& value) {
    if (!json.is_array() || json.size() != 2) return Fail("expected [job, attempt]");
    return Read(json[0], value.job) && Read(json[1], value.number);
  }

  bool Read(const Json& json, core::TaskId& value) {
    if (!json.is_array() || json.size() != 3) return Fail("expected [job, attempt, task]");
    return Read(json[0], value.attempt.job) && Read(json[1], value.attempt.number) && Read(json[2], value.index);
  }

  bool Read(const Json& json, std::pair<std::string, std::string>& value) {
    if (!json.is_array() || json.size() != 2) return Fail("expected [name, value]");
    return Read(json[0], value.first) && Read(json[1], value.second);
  }

  bool Read(const Json& json, core::UseTotals& value) {
    if (!json.is_object()) return Fail("expected an object");
    FieldReader object(json, error_);
    for (std::size_t use = 0; use < value.size(); ++use) {
      object.Field(core::WordOf(static_cast<core::Use>(use)), value[use]);
    }
    return error_.empty();
  }

  template <typename T>
  bool Read(const Json& json, std::vector<T>& values) {
    if (!json.is_array()) return Fail("expected an array");
    values.clear();
    values.reserve(json.size());
    for (const Json& element : json) {
      T value{};
      if (!Read(element, value)) {
        error_ = "[" + std::to_string(values.size()) + "]" + Joint() + error_;
        return false;
      }
      values.push_back(std::move(value));
    }
    return true;
  }

  bool Read(const Json& json, std::shared_ptr<const core::JobSpec>& value) {
    auto spec = std::make_shared<core::JobSpec>();
    if (!Read(json, *spec)) return false;
    value = std::move(spec);
    return true;
  }

  template <typename T>
  bool Read(const Json& json, T& value) {
    if constexpr (std::is_enum_v<T>) {
      if (!json.is_string()) return Fail("expected a name");
      const auto& name = json.get_ref<const std::string&>();
      const auto known = core::FromWord<T>(name);
      if (!known) return Fail("unknown name \"" + name.substr(0, 64) + "\"");
      value = *known;
      return true;
    } else if constexpr (std::is_integral_v<T>) {
      return ReadInteger(json, value);
    } else {
      if (!json.is_object()) return Fail("expected an object");
      FieldReader object(json, error_);
      Fields(object, value);
      return error_.empty();
    }
  }

  template <typename T>
  bool ReadInteger(const Json& json, T& value) {
    if (!json.is_number_integer()) return Fail("expected a whole number");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                                : std::in_range<T>(json.get<std::int64_t>());
    if (!fits) return Fail("number out of range");
    value = json.get<T>();
    return true;
  }

  const Json& object_;
  std::string& error_;
};

}  // namespace glim::store
