// What message_json.h and message_read.h both say of a field: one form, written and read. Pure.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include <google/protobuf/descriptor.h>

namespace glim::proto {

// LAUNCHER_PER_GPU of enum Launcher is "per_gpu". Empty: this schema does not know the number (a newer peer's).
inline std::string EnumWord(const google::protobuf::EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr) return {};
  std::string word = value->name();
  std::string prefix = type.name() + "_";
  std::transform(prefix.begin(), prefix.end(), prefix.begin(), [](unsigned char c) { return std::toupper(c); });
  if (word.starts_with(prefix)) word.erase(0, prefix.size());
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

inline bool IsPointInTime(const google::protobuf::FieldDescriptor& field) {
  return field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT64 && !field.is_repeated() &&
         (field.name().ends_with("_at_ms") || field.name() == "last_heard_ms" || field.name() == "last_used_ms");
}

// Of `submitted_at_ms` it is "submitted_at".
inline std::string TwinOf(const google::protobuf::FieldDescriptor& field) {
  return field.name().substr(0, field.name().size() - std::string_view("_ms").size());
}

}  // namespace glim::proto
