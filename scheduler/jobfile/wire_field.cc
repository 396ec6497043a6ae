#include "scheduler/jobfile/wire_field.h"

#include <utility>

#include <google/protobuf/descriptor.h>

#include "sdk/base/check.h"

namespace glim::jobfile {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

const FieldDescriptor* FieldIn(const Message& message, std::string_view name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(std::string(name));
  GLIM_CHECK(field != nullptr, "glim.v1.JobSpec has no such field");
  return field;
}

// The message that has the last field of `path`, and that field.
struct Writable {
  Message* message;
  const FieldDescriptor* field;
};

Writable Open(glim::v1::JobSpec* spec, std::string_view path) {
  Message* message = spec;
  for (std::size_t dot; (dot = path.find('.')) != std::string_view::npos; path.remove_prefix(dot + 1)) {
    message = message->GetReflection()->MutableMessage(message, FieldIn(*message, path.substr(0, dot)));
  }
  return {message, FieldIn(*message, path)};
}

struct Readable {
  const Message* message;
  const FieldDescriptor* field;
};

Readable Find(const glim::v1::JobSpec& spec, std::string_view path) {
  const Message* message = &spec;
  for (std::size_t dot; (dot = path.find('.')) != std::string_view::npos; path.remove_prefix(dot + 1)) {
    message = &message->GetReflection()->GetMessage(*message, FieldIn(*message, path.substr(0, dot)));
  }
  return {message, FieldIn(*message, path)};
}

}  // namespace

void SetText(glim::v1::JobSpec* spec, std::string_view path, std::string value) {
  const auto [message, field] = Open(spec, path);
  message->GetReflection()->SetString(message, field, std::move(value));
}

void SetNumber(glim::v1::JobSpec* spec, std::string_view path, std::int64_t value) {
  const auto [message, field] = Open(spec, path);
  if (field->type() == FieldDescriptor::TYPE_UINT32) {
    message->GetReflection()->SetUInt32(message, field, static_cast<std::uint32_t>(value));
  } else {
    message->GetReflection()->SetInt64(message, field, value);
  }
}

void SetFlag(glim::v1::JobSpec* spec, std::string_view path, bool value) {
  const auto [message, field] = Open(spec, path);
  message->GetReflection()->SetBool(message, field, value);
}

void AddText(glim::v1::JobSpec* spec, std::string_view path, std::string value) {
  const auto [message, field] = Open(spec, path);
  message->GetReflection()->AddString(message, field, std::move(value));
}

std::string TextOf(const glim::v1::JobSpec& spec, std::string_view path) {
  const auto [message, field] = Find(spec, path);
  return message->GetReflection()->GetString(*message, field);
}

std::int64_t NumberOf(const glim::v1::JobSpec& spec, std::string_view path) {
  const auto [message, field] = Find(spec, path);
  const auto* reflection = message->GetReflection();
  return field->type() == FieldDescriptor::TYPE_UINT32 ? std::int64_t{reflection->GetUInt32(*message, field)}
                                                       : reflection->GetInt64(*message, field);
}

bool FlagOf(const glim::v1::JobSpec& spec, std::string_view path) {
  const auto [message, field] = Find(spec, path);
  return message->GetReflection()->GetBool(*message, field);
}

std::vector<std::string> TextsOf(const glim::v1::JobSpec& spec, std::string_view path) {
  const auto [message, field] = Find(spec, path);
  const auto* reflection = message->GetReflection();
  std::vector<std::string> texts;
  for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
    texts.push_back(reflection->GetRepeatedString(*message, field, i));
  }
  return texts;
}

}  // namespace glim::jobfile
