// The JSON of messages: every message of the protocol, filled and empty, against its descriptor.
#include "proto/json/message_json.h"

#include <cctype>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "glim/v1/admin_api.pb.h"
#include "glim/v1/agent_api.pb.h"
#include "glim/v1/client_api.pb.h"
#include "glim/v1/operate_api.pb.h"
#include "glim/v1/report_api.pb.h"
#include "sdk/base/rfc3339.h"

namespace glim::proto {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::Message;

constexpr std::int64_t kLarge = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

void AddWithNested(const Descriptor& type, std::vector<const Descriptor*>* types) {
  if (type.options().map_entry()) return;
  types->push_back(&type);
  for (int i = 0; i < type.nested_type_count(); ++i) AddWithNested(*type.nested_type(i), types);
}

void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>* seen, std::vector<const Descriptor*>* types) {
  if (!file.name().starts_with("glim/") || !seen->insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), seen, types);
  for (int i = 0; i < file.message_type_count(); ++i) AddWithNested(*file.message_type(i), types);
}

std::vector<const Descriptor*> EveryMessage() {
  std::set<const FileDescriptor*> seen;
  std::vector<const Descriptor*> types;
  AddFile(*v1::SubmitRequest::descriptor()->file(), &seen, &types);
  AddFile(*v1::AgentMessage::descriptor()->file(), &seen, &types);
  AddFile(*v1::GetReportRequest::descriptor()->file(), &seen, &types);
  AddFile(*v1::MoveJobRequest::descriptor()->file(), &seen, &types);
  AddFile(*v1::GetHistoryReportRequest::descriptor()->file(), &seen, &types);
  return types;
}

std::unique_ptr<Message> Empty(const Descriptor& type) {
  return std::unique_ptr<Message>(google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

void Fill(Message* message);

// One value that is far from the default.
void FillField(Message* message, const FieldDescriptor& field) {
  const auto& r = *message->GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return many ? r.AddInt32(message, &field, -7) : r.SetInt32(message, &field, -7);
    case FieldDescriptor::CPPTYPE_UINT32:
      return many ? r.AddUInt32(message, &field, 7) : r.SetUInt32(message, &field, 7);
    case FieldDescriptor::CPPTYPE_INT64:
      return many ? r.AddInt64(message, &field, kLarge) : r.SetInt64(message, &field, kLarge);
    case FieldDescriptor::CPPTYPE_UINT64:
      return many ? r.AddUInt64(message, &field, kLargest) : r.SetUInt64(message, &field, kLargest);
    case FieldDescriptor::CPPTYPE_BOOL:
      return many ? r.AddBool(message, &field, true) : r.SetBool(message, &field, true);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return many ? r.AddDouble(message, &field, 0.5) : r.SetDouble(message, &field, 0.5);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return many ? r.AddFloat(message, &field, 0.5F) : r.SetFloat(message, &field, 0.5F);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int last = field.enum_type()->value(field.enum_type()->value_count() - 1)->number();
      return many ? r.AddEnumValue(message, &field, last) : r.SetEnumValue(message, &field, last);
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return many ? r.AddString(message, &field, "a\"b\n") : r.SetString(message, &field, "a\"b\n");
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Fill(many ? r.AddMessage(message, &field) : r.MutableMessage(message, &field));
  }
}

void Fill(Message* message) {
  const Descriptor& type = *message->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) FillField(message, *type.field(i));
}

// What the value of a field that Fill has set looks like.
void ExpectFilled(const Json& value, const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: EXPECT_EQ(value, -7); break;
    case FieldDescriptor::CPPTYPE_UINT32: EXPECT_EQ(value, 7); break;
    case FieldDescriptor::CPPTYPE_INT64: EXPECT_EQ(value, kLarge); break;
    case FieldDescriptor::CPPTYPE_UINT64: EXPECT_EQ(value, kLargest); break;
    case FieldDescriptor::CPPTYPE_BOOL: EXPECT_EQ(value, true); break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT: EXPECT_EQ(value, 0.5); break;
    case FieldDescriptor::CPPTYPE_ENUM:
      ASSERT_TRUE(value.is_string());
      for (const char c : value.get<std::string>())
        EXPECT_TRUE(std::islower(c) || std::isdigit(c) || c == '_') << value;
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      EXPECT_EQ(value, field.type() == FieldDescriptor::TYPE_BYTES ? "YSJiCg==" : "a\"b\n");
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE: EXPECT_TRUE(value.is_object()); break;
  }
}

TEST(MessageJson, EveryMessageHasAllItsFieldsByTheirNames) {
  const std::vector<const Descriptor*> types = EveryMessage();
  ASSERT_GT(types.size(), 80U);
  for (const Descriptor* type : types) {
    SCOPED_TRACE(type->full_name());
    const auto message = Empty(*type);
    Fill(message.get());
    const Json object = Json::parse(MessageJson(*message).dump());
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor& field = *type->field(i);
      SCOPED_TRACE(field.name());
      ASSERT_TRUE(object.contains(field.name()));
      const Json& value = object[field.name()];
      const bool is_other_member = field.containing_oneof() != nullptr && i + 1 < type->field_count() &&
                                   type->field(i + 1)->containing_oneof() == field.containing_oneof();
      if (is_other_member) {  // the last member of a oneof is the one that is set
        EXPECT_TRUE(value.is_null());
      } else if (field.is_map()) {
        ASSERT_EQ(value.size(), 1U);
        EXPECT_TRUE(value.is_object());
        ExpectFilled(value.front(), *field.message_type()->map_value());
      } else if (field.is_repeated()) {
        ASSERT_EQ(value.size(), 1U);
        ExpectFilled(value[0], field);
      } else {
        ExpectFilled(value, field);
      }
    }
  }
}

TEST(MessageJson, AnEmptyMessageHasThemToo) {
  for (const Descriptor* type : EveryMessage()) {
    SCOPED_TRACE(type->full_name());
    const Json object = MessageJson(*Empty(*type));
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor& field = *type->field(i);
      SCOPED_TRACE(field.name());
      ASSERT_TRUE(object.contains(field.name()));
      const Json& value = object[field.name()];
      if (field.is_repeated()) {
        EXPECT_EQ(value, field.is_map() ? Json::object() : Json::array());
      } else if (field.has_presence()) {
        EXPECT_TRUE(value.is_null());
      }
    }
  }
}

TEST(MessageJson, PointsInTimeHaveATwin) {
  v1::Job job;
  job.set_submitted_at_ms(1'700'000'000'123);
  const Json object = MessageJson(job);
  EXPECT_EQ(object["submitted_at_ms"], 1'700'000'000'123);
  EXPECT_EQ(object["submitted_at"], "2023-11-14T22:13:20.123Z");
  EXPECT_TRUE(object["ended_at"].is_null());
  v1::Node node;
  node.set_last_heard_ms(1);
  EXPECT_EQ(MessageJson(node)["last_heard"], "1970-01-01T00:00:00.001Z");
}

TEST(MessageJson, TheCalendarIsRight) {
  const std::pair<std::int64_t, const char*> kRows[] = {
      {0, "1970-01-01T00:00:00.000Z"},
      {-1, "1969-12-31T23:59:59.999Z"},
      {951'782'400'000, "2000-02-29T00:00:00.000Z"},
      {951'868'800'000, "2000-03-01T00:00:00.000Z"},
      {4'107'542'400'000, "2100-03-01T00:00:00.000Z"},
      {1'709'251'199'999, "2024-02-29T23:59:59.999Z"},
      {253'402'300'799'999, "9999-12-31T23:59:59.999Z"},
      {-62'167'219'200'000, "0000-01-01T00:00:00.000Z"},
  };
  for (const auto& [ms, text] : kRows) EXPECT_EQ(FormatRfc3339({ms}), text);
}

TEST(MessageJson, EnumerationsAreWordsWithoutTheirTypesName) {
  v1::JobSpec spec;
  spec.set_launcher(v1::LAUNCHER_PER_GPU);
  EXPECT_EQ(MessageJson(spec)["launcher"], "per_gpu");
  spec.GetReflection()->SetEnumValue(&spec, v1::JobSpec::descriptor()->FindFieldByName("launcher"), 99);
  EXPECT_EQ(MessageJson(spec)["launcher"], 99) << "a newer scheduler's";
}

TEST(MessageJson, BytesAreBase64) {
  v1::StreamLogResponse log;
  for (const auto& [bytes, text] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe", "//4="}}) {
    log.set_data(bytes);
    EXPECT_EQ(MessageJson(log)["data"], text);
  }
}

TEST(MessageJson, AMapIsAnObject) {
  v1::HistoryReportRow row;
  (*row.mutable_failures())["timeout"] = 2;
  (*row.mutable_failures())["hang"] = 1;
  EXPECT_EQ(MessageJson(row)["failures"].dump(), R"({"hang":1,"timeout":2})");
}

TEST(NewDocument, SaysItsVersion) { EXPECT_EQ(NewDocument().dump(), R"({"version":2})"); }

}  // namespace
}  // namespace glim::proto
