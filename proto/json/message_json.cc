#include "proto/json/message_json.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <google/protobuf/descriptor.h>

#include "proto/json/field_words.h"
#include "sdk/base/rfc3339.h"

namespace glim::proto {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

Json EnumJson(const EnumDescriptor& type, int number) {
  std::string word = EnumWord(type, number);
  return word.empty() ? Json(number) : Json(std::move(word));
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

// Keys are text in JSON, whatever they are in the schema; in their order, for maps have none.
Json MapJson(const Message& message, const FieldDescriptor& field) {
  const Reflection& r = *message.GetReflection();
  std::map<std::string, Json> sorted;
  for (int k = 0; k < r.FieldSize(message, &field); ++k) {
    const Message& entry = r.GetRepeatedMessage(message, &field, k);
    const Json key = FieldJson(entry, *field.message_type()->map_key(), -1);
    sorted[key.is_string() ? key.get<std::string>() : key.dump()] =
        FieldJson(entry, *field.message_type()->map_value(), -1);
  }
  Json object = Json::object();
  for (auto& [key, value] : sorted) object[key] = std::move(value);
  return object;
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
    if (field.is_map()) {
      object[field.name()] = MapJson(message, field);
    } else if (field.is_repeated()) {
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
      object[TwinOf(field)] = point ? Json(FormatRfc3339(point)) : Json(nullptr);
    }
  }
  return object;
}

}  // namespace glim::proto
