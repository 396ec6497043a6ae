#include "proto/json/message_read.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "proto/json/field_words.h"
#include "sdk/base/printable.h"
#include "sdk/base/rfc3339.h"
#include "sdk/base/rfc3339_read.h"
#include "sdk/base/suggest.h"
#include "sdk/base/utf8.h"

namespace glim::proto {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::size_t kQuotedMax = 64;

Status Refuse(const std::string& path, const std::string& what, std::string fix = "") {
  return Status(StatusCode::kInvalidArgument, (path.empty() ? "the body" : path) + ": " + what)
      .WithReason("BAD_FIELD")
      .WithField(path)
      .WithFix(std::move(fix));
}

std::string Joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::string Quoted(std::string_view text) { return "'" + EscapedStart(text, kQuotedMax) + "'"; }

Status UnknownField(const Descriptor& type, const std::string& path, std::string_view name) {
  std::vector<std::string> known;
  for (int i = 0; i < type.field_count(); ++i) {
    known.push_back(type.field(i)->name());
    if (IsPointInTime(*type.field(i))) known.push_back(TwinOf(*type.field(i)));
  }
  const std::vector<std::string_view> words(known.begin(), known.end());
  const std::string nearest = Nearest(name, words);
  std::string all;
  for (const std::string& word : known) all += (all.empty() ? "" : ", ") + word;
  const std::string fix = known.empty() ? "leave it out: there are no fields here" : "use one of: " + all;
  return Refuse(Joined(path, EscapedStart(name, kQuotedMax)), "there is no such field",
                nearest.empty() ? fix : "did you mean " + nearest + "?");
}

Result<int> EnumNumber(const EnumDescriptor& type, const std::string& path, std::string_view word) {
  std::vector<std::string> known;
  for (int i = 0; i < type.value_count(); ++i) {
    known.push_back(EnumWord(type, type.value(i)->number()));
    if (known.back() == word) return type.value(i)->number();
  }
  std::string all;
  for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
  const std::vector<std::string_view> words(known.begin(), known.end());
  const std::string nearest = Nearest(word, words);
  return Refuse(path, Quoted(word) + " is none of its words",
                nearest.empty() ? "use one of: " + all : "did you mean " + nearest + "?");
}

// Base64 with its padding; none: it is not that.
std::optional<std::string> BytesOf(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    const std::size_t count = 4 - (last ? padding : 0);
    unsigned group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const int value = i < count ? digit(text[at + i]) : 0;
      if (value < 0) return std::nullopt;
      group = group << 6 | static_cast<unsigned>(value);
    }
    // What the padding leaves over must be nothing: else two texts would be the same bytes.
    const unsigned left_over = count == 2 ? 0xffff : count == 3 ? 0xff : 0;
    if ((group & left_over) != 0) return std::nullopt;
    for (std::size_t i = 0; i + 1 < count; ++i) bytes += static_cast<char>(group >> (16 - 8 * i) & 0xff);
  }
  return bytes;
}

// A whole number of the type, from JSON.
template <typename Number>
Result<Number> WholeNumber(const Json& value, const std::string& path) {
  const auto range = [&] {
    return Refuse(path, "is out of range",
                  "use a number from " + std::to_string(std::numeric_limits<Number>::min()) + " to " +
                      std::to_string(std::numeric_limits<Number>::max()));
  };
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<Number>::max())) return range();
    return static_cast<Number>(number);
  }
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (!std::in_range<Number>(number)) return range();
    return static_cast<Number>(number);
  }
  if (value.is_number_float() && std::abs(value.get<double>()) >= 9.2e18) return range();
  return Refuse(path, "must be a whole number", "like 7, without quotes");
}

// Sets a field, or adds to a repeated one.
class Setter {
 public:
  Setter(const FieldDescriptor& field, const std::string& path, Message* out)
      : field_(field), path_(path), out_(out), reflection_(*out->GetReflection()) {}

  Status Set(const Json& value);

 private:
  template <typename Number, typename Put, typename Add>
  Status Whole(const Json& value, Put put, Add add) {
    const auto number = WholeNumber<Number>(value, path_);
    if (!number.ok()) return number.status();
    field_.is_repeated() ? (reflection_.*add)(out_, &field_, *number) : (reflection_.*put)(out_, &field_, *number);
    return Status::Ok();
  }
  Status Double(const Json& value);
  Status Bool(const Json& value);
  Status Enum(const Json& value);
  Status Text(const Json& value);

  const FieldDescriptor& field_;
  const std::string& path_;
  Message* const out_;
  const Reflection& reflection_;
};

Status Setter::Double(const Json& value) {
  if (!value.is_number()) return Refuse(path_, "must be a number", "like 0.5, without quotes");
  const auto number = value.get<double>();
  if (!std::isfinite(number)) return Refuse(path_, "is out of range", "use a smaller number");
  if (field_.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) {
    if (std::abs(number) > static_cast<double>(std::numeric_limits<float>::max())) {
      return Refuse(path_, "is out of range", "use a smaller number");
    }
    const auto single = static_cast<float>(number);
    field_.is_repeated() ? reflection_.AddFloat(out_, &field_, single) : reflection_.SetFloat(out_, &field_, single);
    return Status::Ok();
  }
  field_.is_repeated() ? reflection_.AddDouble(out_, &field_, number) : reflection_.SetDouble(out_, &field_, number);
  return Status::Ok();
}

Status Setter::Bool(const Json& value) {
  if (!value.is_boolean()) return Refuse(path_, "must be true or false", "without quotes");
  const bool yes = value.get<bool>();
  field_.is_repeated() ? reflection_.AddBool(out_, &field_, yes) : reflection_.SetBool(out_, &field_, yes);
  return Status::Ok();
}

Status Setter::Enum(const Json& value) {
  if (!value.is_string()) return Refuse(path_, "must be a word", "use one of its words, in quotes");
  const auto number = EnumNumber(*field_.enum_type(), path_, value.get_ref<const std::string&>());
  if (!number.ok()) return number.status();
  field_.is_repeated() ? reflection_.AddEnumValue(out_, &field_, *number)
                       : reflection_.SetEnumValue(out_, &field_, *number);
  return Status::Ok();
}

Status Setter::Text(const Json& value) {
  if (!value.is_string()) return Refuse(path_, "must be text", "put it in quotes");
  std::string text = value.get<std::string>();
  if (field_.type() == FieldDescriptor::TYPE_BYTES) {
    auto bytes = BytesOf(text);
    if (!bytes) return Refuse(path_, "is not base64", "use the standard alphabet, with its padding");
    text = std::move(*bytes);
  }
  field_.is_repeated() ? reflection_.AddString(out_, &field_, std::move(text))
                       : reflection_.SetString(out_, &field_, std::move(text));
  return Status::Ok();
}

Status Setter::Set(const Json& value) {
  switch (field_.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return Whole<std::int32_t>(value, &Reflection::SetInt32, &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return Whole<std::int64_t>(value, &Reflection::SetInt64, &Reflection::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return Whole<std::uint32_t>(value, &Reflection::SetUInt32, &Reflection::AddUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return Whole<std::uint64_t>(value, &Reflection::SetUInt64, &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT: return Double(value);
    case FieldDescriptor::CPPTYPE_BOOL: return Bool(value);
    case FieldDescriptor::CPPTYPE_ENUM: return Enum(value);
    case FieldDescriptor::CPPTYPE_STRING: return Text(value);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ReadMessage(
          value, path_,
          field_.is_repeated() ? reflection_.AddMessage(out_, &field_) : reflection_.MutableMessage(out_, &field_));
  }
  return Status::Ok();
}

// Keys are text in JSON, whatever they are in the schema.
Status SetMap(const FieldDescriptor& field, const Json& value, const std::string& path, Message* out) {
  if (!value.is_object()) return Refuse(path, "must be an object", "put it in { }");
  for (const auto& [key, item] : value.items()) {
    Message* const entry = out->GetReflection()->AddMessage(out, &field);
    const std::string place = Joined(path, EscapedStart(key, kQuotedMax));
    if (Status s = ReadFieldText("key", key, entry); !s.ok()) return Refuse(place, s.message(), s.fix());
    if (Status s = Setter(*field.message_type()->map_value(), place, entry).Set(item); !s.ok()) return s;
  }
  return Status::Ok();
}

Status SetRepeated(const FieldDescriptor& field, const Json& value, const std::string& path, Message* out) {
  if (field.is_map()) return SetMap(field, value, path, out);
  if (!value.is_array()) return Refuse(path, "must be a list", "put it in [ ]");
  std::size_t index = 0;
  for (const Json& item : value) {
    const std::string place = path + "[" + std::to_string(index++) + "]";
    if (Status s = Setter(field, place, out).Set(item); !s.ok()) return s;
  }
  return Status::Ok();
}

Status SetField(const FieldDescriptor& field, const Json& value, const std::string& path, Message* out) {
  if (field.is_repeated()) return SetRepeated(field, value, path, out);
  if (value.is_null()) {
    if (field.has_presence()) return Status::Ok();
    return Refuse(path, "cannot be null", "leave it out");
  }
  if (const auto* const oneof = field.real_containing_oneof()) {
    const FieldDescriptor* const other = out->GetReflection()->GetOneofFieldDescriptor(*out, oneof);
    if (other != nullptr && other != &field) {
      return Refuse(path, "cannot be there together with " + other->name(), "leave one of the two out");
    }
  }
  return Setter(field, path, out).Set(value);
}

// `x_at`, and `x_at_ms` beside it if that is there.
Status SetTwin(const FieldDescriptor& field, const Json& object, const Json& value, const std::string& path,
               Message* out) {
  const auto beside = object.find(field.name());
  if (!value.is_null() && !value.is_string()) return Refuse(path, "must be text", "like \"2026-11-20T12:09:07Z\"");
  std::optional<TimePoint> point;
  if (value.is_null()) {
    point = TimePoint{};
  } else {
    const auto& text = value.get_ref<const std::string&>();
    point = ParseRfc3339(text);
    const bool written_here = beside != object.end() && beside->is_number_integer() &&
                              FormatRfc3339({beside->get<std::int64_t>()}) == text;  // also beyond the year 9999
    if (written_here) return Status::Ok();
    if (!point) return Refuse(path, Quoted(text) + " is no point in time", "write it like 2026-11-20T12:09:07Z");
  }
  if (beside != object.end()) {
    if (beside->is_number_integer() && *beside == point->ms) return Status::Ok();
    return Refuse(path, "says another time than " + field.name(), "leave one of the two out");
  }
  out->GetReflection()->SetInt64(out, &field, point->ms);
  return Status::Ok();
}

// The point in time whose twin has that name; null: none.
const FieldDescriptor* FieldOfTwin(const Descriptor& type, const std::string& name) {
  const FieldDescriptor* const field = type.FindFieldByName(name + "_ms");
  return field != nullptr && IsPointInTime(*field) ? field : nullptr;
}

// Text of a query as the JSON that it stands for.
Result<Json> JsonOfText(const FieldDescriptor& field, const std::string& path, std::string_view text) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text == "true" || text == "1" || text.empty()) return Json(true);  // "?follow" is said, too
      if (text == "false" || text == "0") return Json(false);
      return Refuse(path, Quoted(text) + " is neither true nor false", "use one of these");
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_BYTES) return Refuse(path, "is given in the body", "send it as JSON");
      // The protocol's own reader would refuse the whole message.
      if (!IsUtf8(text)) return Refuse(path, "is not UTF-8", "encode it as UTF-8");
      return Json(std::string(text));
    case FieldDescriptor::CPPTYPE_ENUM: return Json(std::string(text));
    case FieldDescriptor::CPPTYPE_MESSAGE: return Refuse(path, "is given in the body", "send it as JSON");
    default: break;
  }
  auto value = text.size() <= kQuotedMax ? ParseJson(text)
                                         : Result<Json>(Refuse(path, "must be a number", "use digits, like 7"));
  if (value.ok() && value->is_number()) return value;
  return Refuse(path, Quoted(text) + " is not a number", "use digits, like 7");
}

}  // namespace

Status ReadMessage(const Json& object, const std::string& path, Message* out) {
  if (!object.is_object()) return Refuse(path, "must be an object", "put it in { }");
  const Descriptor& type = *out->GetDescriptor();
  for (const auto& [name, value] : object.items()) {
    const std::string place = Joined(path, EscapedStart(name, kQuotedMax));
    if (const FieldDescriptor* const field = type.FindFieldByName(name)) {
      if (Status s = SetField(*field, value, place, out); !s.ok()) return s;
    } else if (const FieldDescriptor* const twin = FieldOfTwin(type, name)) {
      if (Status s = SetTwin(*twin, object, value, place, out); !s.ok()) return s;
    } else {
      return UnknownField(type, path, name);
    }
  }
  return Status::Ok();
}

Status ReadMessageText(std::string_view text, Message* out) {
  const auto tree = ParseJson(text);
  return tree.ok() ? ReadMessage(*tree, "", out) : tree.status();
}

Status ReadFieldText(std::string_view name, std::string_view text, Message* out) {
  const Descriptor& type = *out->GetDescriptor();
  const std::string path(name);
  if (const FieldDescriptor* const twin = FieldOfTwin(type, path)) {
    return SetTwin(*twin, Json::object(), Json(std::string(text)), path, out);
  }
  const FieldDescriptor* const field = type.FindFieldByName(path);
  if (field == nullptr) return UnknownField(type, "", name);
  if (field->is_map()) return Refuse(path, "is given in the body", "send it as JSON");
  const auto value = JsonOfText(*field, path, text);
  if (!value.ok()) return value.status();
  return Setter(*field, path, out).Set(*value);
}

}  // namespace glim::proto
