#include "scheduler/gateway/openapi/schemas.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "proto/json/field_words.h"
#include "scheduler/gateway/answers.h"
#include "scheduler/gateway/openapi/comments.h"

namespace glim::gateway {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using proto::Json;

template <typename Number>
Json Whole(const char* format) {
  Json schema{{"type", "integer"}, {"format", format}};
  if constexpr (std::numeric_limits<Number>::min() == 0 || sizeof(Number) < sizeof(std::int64_t)) {
    schema["minimum"] = std::numeric_limits<Number>::min();
  }
  // Readers that know no format need the bound; 64 bits they could not write down exactly.
  if constexpr (sizeof(Number) < sizeof(std::int64_t)) schema["maximum"] = std::numeric_limits<Number>::max();
  return schema;
}

Json EnumSchema(const EnumDescriptor& type) {
  Json words = Json::array();
  for (int i = 0; i < type.value_count(); ++i) words.push_back(proto::EnumWord(type, type.value(i)->number()));
  return {{"type", "string"}, {"enum", std::move(words)}};
}

Json ScalarSchema(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return Whole<std::int32_t>("int32");
    case FieldDescriptor::CPPTYPE_INT64: return Whole<std::int64_t>("int64");
    case FieldDescriptor::CPPTYPE_UINT32: return Whole<std::uint32_t>("uint32");
    case FieldDescriptor::CPPTYPE_UINT64: return Whole<std::uint64_t>("uint64");
    case FieldDescriptor::CPPTYPE_DOUBLE: return {{"type", "number"}, {"format", "double"}};
    case FieldDescriptor::CPPTYPE_FLOAT: return {{"type", "number"}, {"format", "float"}};
    case FieldDescriptor::CPPTYPE_BOOL: return {{"type", "boolean"}};
    default: break;
  }
  if (field.type() == FieldDescriptor::TYPE_BYTES) return {{"type", "string"}, {"contentEncoding", "base64"}};
  return {{"type", "string"}};
}

void OrNull(Json* schema) {
  if (schema->contains("type")) {
    (*schema)["type"] = Json::array({(*schema)["type"], "null"});
  } else {
    *schema = {{"anyOf", Json::array({*schema, {{"type", "null"}}})}};
  }
}

// Beside the schema's own fields, what the command line shows of jobs.
void CompleteJob(Json* properties, Json* required) {
  (*properties)["gpus"] = {{"type", "integer"}, {"minimum", 0}, {"description", "of all its nodes"}};
  (*properties)["gpus_simulated"] = {{"type", "boolean"}, {"description", "some of what it has is simulated"}};
  required->push_back("gpus");
  required->push_back("gpus_simulated");
}

// "one of user, team, quota": of the message's oneofs.
std::string OneofText(const google::protobuf::Descriptor& type) {
  std::string text;
  for (int i = 0; i < type.real_oneof_decl_count(); ++i) {
    text += text.empty() ? "At most one of " : "; at most one of ";
    for (int k = 0; k < type.oneof_decl(i)->field_count(); ++k) {
      text += (k == 0 ? "" : ", ") + type.oneof_decl(i)->field(k)->name();
    }
  }
  return text;
}

}  // namespace

Json RefTo(const std::string& component, const std::string& name) {
  return {{"$ref", "#/components/" + component + "/" + name}};
}

Json TwinSchema() { return {{"type", Json::array({"string", "null"})}, {"format", "date-time"}}; }

Json Schemas::Components() const {
  Json all = Json::object();
  for (const auto& [name, schema] : schemas_) all[name] = schema;
  return all;
}

Json Schemas::RefOf(const Descriptor& type, Side side) {
  const std::string name = type.name() + (side == Side::kRequest ? "Input" : "");
  if (schemas_.find(name) == schemas_.end()) {
    schemas_[name] = nullptr;  // a message may have itself
    schemas_[name] = ObjectOf(type, side, false, {});
  }
  return RefTo("schemas", name);
}

Json Schemas::Document(const Descriptor& type) {
  if (schemas_.find(type.name()) == schemas_.end()) schemas_[type.name()] = ObjectOf(type, Side::kAnswer, true, {});
  return RefTo("schemas", type.name());
}

Json Schemas::Body(const Descriptor& type, const std::set<std::string>& without) {
  return ObjectOf(type, Side::kRequest, false, without);
}

Json Schemas::ValueOf(const FieldDescriptor& field, Side side) {
  if (field.message_type() != nullptr) return RefOf(*field.message_type(), side);
  if (field.enum_type() == nullptr) return ScalarSchema(field);
  const std::string& name = field.enum_type()->name();
  if (schemas_.find(name) == schemas_.end()) schemas_[name] = EnumSchema(*field.enum_type());
  return RefTo("schemas", name);
}

Json Schemas::Parameter(const FieldDescriptor& field) {
  if (!field.is_repeated()) return Value(field);
  return {{"type", "array"}, {"items", Value(field)}};
}

Json Schemas::FieldOf(const FieldDescriptor& field, Side side) {
  Json schema;
  if (field.is_map()) {
    schema = {{"type", "object"}, {"additionalProperties", ValueOf(*field.message_type()->map_value(), side)}};
  } else if (field.is_repeated()) {
    schema = {{"type", "array"}, {"items", ValueOf(field, side)}};
  } else {
    schema = ValueOf(field, side);
    if (field.has_presence()) OrNull(&schema);
  }
  const std::string comment = CommentOf(field);
  if (!comment.empty()) schema["description"] = comment;
  return schema;
}

Json Schemas::ObjectOf(const Descriptor& type, Side side, bool document, const std::set<std::string>& without) {
  Json properties = Json::object(), required = Json::array();
  if (document) {
    properties["version"] = RefTo("schemas", "Version");
    required.push_back("version");
  }
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (without.contains(field.name())) continue;
    const std::string name = document && field.name() == "version" ? kSchedulerVersion : field.name();
    properties[name] = FieldOf(field, side);
    required.push_back(name);
    if (!proto::IsPointInTime(field)) continue;
    properties[proto::TwinOf(field)] = TwinSchema();
    required.push_back(proto::TwinOf(field));
  }
  if (side == Side::kAnswer && type.full_name() == "glim.v1.Job") CompleteJob(&properties, &required);
  Json schema{{"type", "object"}};
  std::string text = CommentOf(type);
  const std::string oneofs = OneofText(type);
  if (!oneofs.empty()) text += (text.empty() ? "" : text.ends_with('.') ? " " : ". ") + oneofs;
  if (!text.empty()) schema["description"] = text;
  if (!properties.empty()) schema["properties"] = std::move(properties);
  if (side == Side::kRequest) schema["additionalProperties"] = false;
  if (side == Side::kAnswer && !required.empty()) schema["required"] = std::move(required);
  return schema;
}

}  // namespace glim::gateway
