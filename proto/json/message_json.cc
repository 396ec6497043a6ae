#include "proto/json/message_json.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include <google/protobuf/descriptor.h>

#include "sdk/base/rfc3339.h"

namespace glim::proto {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// LAUNCHER_PER_GPU of enum Launcher is "per_gpu". A number that this schema does not know (a newer peer's) stays one.
Json EnumJson(const EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr) return number;
  std::string word = value->name();
  std::string prefix = type.name() + "_";
  std::transform(prefix.begin(), prefix.end(), prefix.begin(), [](unsigned char c) { return std::toupper(c); });
  if (word.starts_with(prefix)) word.erase(0, prefix.size());
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

// The value of `field`, at `index` when it is repeated (-1: it is not).
Json FieldJson(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& r = *message.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? r.GetInt32(message, &field) : r.GetRepeatedInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return one ? r.GetInt64(message, &field) : r.GetRepeatedInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return one ? r.GetUInt32(message, &field) : r.GetRepeatedUInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT64:
      return one ? r.GetUInt64(message, &field) : r.GetRepeatedUInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return one ? r.GetDouble(message, &field) : r.GetRepeatedDouble(message, &field, index);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return one ? r.GetFloat(message, &field) : r.GetRepeatedFloat(message, &field, index);
    case FieldDescriptor::CPPTYPE_BOOL:
      return one ? r.GetBool(message, &field) : r.GetRepeatedBool(message, &field, index);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumJson(*field.enum_type(),
                      one ? r.GetEnumValue(message, &field) : r.GetRepeatedEnumValue(message, &field, index));
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text = one ? r.GetString(message, &field) : r.GetRepeatedString(message, &field, index);
      return field.type() == FieldDescriptor::TYPE_BYTES ? Base64(text) : std::move(text);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageJson(one ? r.GetMessage(message, &field) : r.GetRepeatedMessage(message, &field, index));
  }
  return nullptr;
}

bool IsPointInTime(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 && !field.is_repeated() &&
         (field.name().ends_with("_at_ms") || field.name() == "last_heard_ms" || field.name() == "last_used_ms");
}

}  // namespace

Json NewDocument() {
  Json document;
  document["version"] = kJsonVersion;
  return document;
}

Json MessageJson(const Message& message) {
  const auto& descriptor = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  Json object = Json::object();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.is_repeated()) {
      Json list = Json::array();
      for (int k = 0; k < reflection.FieldSize(message, &field); ++k) list.push_back(FieldJson(message, field, k));
      object[field.name()] = std::move(list);
    } else if (field.has_presence() && !reflection.HasField(message, &field)) {
      object[field.name()] = nullptr;
    } else {
      object[field.name()] = FieldJson(message, field, -1);
    }
    if (IsPointInTime(field)) {
      const TimePoint point{reflection.GetInt64(message, &field)};
      const std::string twin = field.name().substr(0, field.name().size() - std::string_view("_ms").size());
      object[twin] = point ? Json(FormatRfc3339(point)) : Json(nullptr);
    }
  }
  return object;
}

}  // namespace glim::proto
