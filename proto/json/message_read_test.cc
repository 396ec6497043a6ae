// JSON into messages: what is written is read back, and what is refused is refused with its field and a way to mend it.
#include "proto/json/message_read.h"

#include <limits>
#include <memory>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "glim/v1/admin_api.pb.h"
#include "glim/v1/client_api.pb.h"
#include "glim/v1/operate_api.pb.h"
#include "glim/v1/report_api.pb.h"
#include "sdk/base/rfc3339.h"
#include "sdk/base/rfc3339_read.h"
#include "sdk/base/rng.h"

namespace glim::proto {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::HasSubstr;

std::vector<const google::protobuf::Descriptor*> MessagesOfServices() {
  std::vector<const google::protobuf::Descriptor*> types;
  for (const auto* file : {v1::SubmitRequest::descriptor()->file(), v1::GetReportRequest::descriptor()->file(),
                           v1::MoveJobRequest::descriptor()->file(), v1::GetHistoryReportRequest::descriptor()->file(),
                           v1::JobSpec::descriptor()->file(), v1::Node::descriptor()->file()}) {
    for (int i = 0; i < file->message_type_count(); ++i) types.push_back(file->message_type(i));
  }
  return types;
}

std::unique_ptr<Message> NewOf(const google::protobuf::Descriptor& type) {
  return std::unique_ptr<Message>(google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

std::string RandomText(Rng* rng) {
  static constexpr const char* kPieces[] = {"a", "\"", "\\", "\n", "\x01", "é", "日", "/", "null", "{", "="};
  std::string text;
  for (auto n = rng->Between(0, 6); n > 0; --n) text += kPieces[rng->Between(0, std::ssize(kPieces) - 1)];
  return text;
}

std::string RandomBytes(Rng* rng) {
  std::string bytes;
  for (auto n = rng->Between(0, 6); n > 0; --n) bytes += static_cast<char>(rng->Between(0, 255));
  return bytes;
}

void FillRandomly(Rng* rng, int depth, Message* message);

void SetRandomly(Rng* rng, int depth, const FieldDescriptor& field, Message* message) {
  const auto& r = *message->GetReflection();
  const bool many = field.is_repeated();
  const auto bits = [rng] { return rng->OneIn(3) ? rng->Next() : rng->OneIn(2) ? ~std::uint64_t{0} : rng->Next() % 9; };
  const auto signed64 = [&] { return static_cast<std::int64_t>(rng->OneIn(2) ? bits() : 0 - bits()); };
  const auto real = [&] { return static_cast<double>(rng->Between(-1'000'000, 1'000'000)) / 64; };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto v = static_cast<std::int32_t>(signed64());
      return many ? r.AddInt32(message, &field, v) : r.SetInt32(message, &field, v);
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto v = static_cast<std::uint32_t>(bits());
      return many ? r.AddUInt32(message, &field, v) : r.SetUInt32(message, &field, v);
    }
    case FieldDescriptor::CPPTYPE_INT64:
      return many ? r.AddInt64(message, &field, signed64()) : r.SetInt64(message, &field, signed64());
    case FieldDescriptor::CPPTYPE_UINT64:
      return many ? r.AddUInt64(message, &field, bits()) : r.SetUInt64(message, &field, bits());
    case FieldDescriptor::CPPTYPE_BOOL:
      return many ? r.AddBool(message, &field, rng->OneIn(2)) : r.SetBool(message, &field, rng->OneIn(2));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return many ? r.AddDouble(message, &field, real()) : r.SetDouble(message, &field, real());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return many ? r.AddFloat(message, &field, static_cast<float>(real()))
                  : r.SetFloat(message, &field, static_cast<float>(real()));
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int at = static_cast<int>(rng->Between(0, field.enum_type()->value_count() - 1));
      const int number = field.enum_type()->value(at)->number();
      return many ? r.AddEnumValue(message, &field, number) : r.SetEnumValue(message, &field, number);
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string v = field.type() == FieldDescriptor::TYPE_BYTES ? RandomBytes(rng) : RandomText(rng);
      return many ? r.AddString(message, &field, std::move(v)) : r.SetString(message, &field, std::move(v));
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return FillRandomly(rng, depth + 1, many ? r.AddMessage(message, &field) : r.MutableMessage(message, &field));
  }
}

void FillRandomly(Rng* rng, int depth, Message* message) {
  const auto& type = *message->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool in_map = type.options().map_entry();
    const bool deep = depth > 4 && field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const auto times = field.is_map() ? 1 : field.is_repeated() ? rng->Between(0, 3) : rng->Between(in_map ? 1 : 0, 1);
    for (auto n = deep ? 0 : times; n > 0; --n) SetRandomly(rng, depth, field, message);
  }
}

TEST(MessageRead, ReadsWhatMessageJsonWrites) {
  Rng rng(7);
  int read = 0;
  for (const auto* type : MessagesOfServices()) {
    SCOPED_TRACE(type->full_name());
    for (int round = 0; round < 40; ++round) {
      const auto before = NewOf(*type), after = NewOf(*type);
      FillRandomly(&rng, 0, before.get());
      const std::string text = MessageJson(*before).dump();
      const Status status = ReadMessageText(text, after.get());
      ASSERT_TRUE(status.ok()) << status.message() << "\n" << text;
      ASSERT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*before, *after)) << text;
      ++read;
    }
  }
  EXPECT_GT(read, 4'000);
}

Status Refusal(Message* message, const std::string& text) {
  message->Clear();
  return ReadMessageText(text, message);
}

TEST(MessageRead, WhatIsLeftOutHasItsDefault) {
  v1::CancelRequest request;
  ASSERT_TRUE(ReadMessageText(R"({"job_id": 7})", &request).ok());
  EXPECT_EQ(request.job_id(), 7U);
  EXPECT_FALSE(request.now());
}

TEST(MessageRead, RefusalsNameTheFieldAndSayHowToMendIt) {
  struct Row {
    const char* text;
    const char* field;
    const char* message;
    const char* fix;
  };
  const Row rows[] = {
      {R"({"jbo": {}})", "jbo", "no such field", "did you mean job?"},
      {R"({"job": {"attempt_count": "7"}})", "job.attempt_count", "whole number", ""},
      {R"({"job": {"attempt_count": 7.5}})", "job.attempt_count", "whole number", ""},
      {R"({"job": {"attempt_count": -1}})", "job.attempt_count", "out of range", "from 0 to 4294967295"},
      {R"({"job": {"attempt_count": 4294967296}})", "job.attempt_count", "out of range", "from 0 to"},
      {R"({"job": {"submitted_at_ms": 9223372036854775808}})", "job.submitted_at_ms", "out of range", ""},
      {R"({"job": {"submitted_at_ms": 1e30}})", "job.submitted_at_ms", "out of range", ""},
      {R"({"job": {"durable_nodes": "n1"}})", "job.durable_nodes", "must be a list", "[ ]"},
      {R"({"job": {"durable_nodes": ["n1", 2]}})", "job.durable_nodes[1]", "must be text", "quotes"},
      {R"({"job": []})", "job", "must be an object", "{ }"},
      {R"({"job": {"spec": {"api": "yes"}}})", "job.spec.api", "true or false", ""},
      {R"({"job": {"spec": {"api": null}}})", "job.spec.api", "null", "leave it out"},
      {R"({"job": {"submitted_at": "tomorrow"}})", "job.submitted_at", "no point in time", "2026-"},
      {R"({"job": {"submitted_at": "2026-11-20T12:00:00Z", "submitted_at_ms": 5}})", "job.submitted_at",
       "another time than submitted_at_ms", "leave one"},
      {R"(7)", "", "the body: must be an object", "{ }"},
  };
  v1::GetJobResponse request;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const Status status = Refusal(&request, row.text);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.reason(), "BAD_FIELD");
    EXPECT_EQ(status.field(), row.field);
    EXPECT_THAT(status.message(), HasSubstr(row.message));
    EXPECT_THAT(status.fix(), HasSubstr(row.fix));
  }
}

TEST(MessageRead, WordsOfEnumerationsAndMembersOfOneofs) {
  v1::SubmitRequest submit;
  const Status word = Refusal(&submit, R"({"specs": [{"launcher": "per_gpus"}]})");
  EXPECT_EQ(word.field(), "specs[0].launcher");
  EXPECT_EQ(word.fix(), "did you mean per_gpu?");
  v1::ChangeAccountRequest change;
  EXPECT_EQ(Refusal(&change, R"({"user": {"name": "kim"}, "team": {"name": "vision"}})").field(), "team");
  EXPECT_TRUE(Refusal(&change, R"({"user": null, "team": {"name": "vision"}})").ok());
  EXPECT_EQ(change.team().name(), "vision");
}

TEST(MessageRead, BytesAreBase64AndNothingElse) {
  v1::SetSecretRequest request;
  ASSERT_TRUE(ReadMessageText(R"({"value": "Zm9vYg=="})", &request).ok());
  EXPECT_EQ(request.value(), "foob");
  for (const char* text : {"Zm9vYg", "Zm9vYg=", "Zm9vYh==", "Zm 9", "====", "Z===", "Zm-_"}) {
    EXPECT_EQ(Refusal(&request, R"({"value": ")" + std::string(text) + "\"}").field(), "value") << text;
  }
}

TEST(MessageRead, TextThatIsNoJsonOrTooMuchOfIt) {
  v1::CancelRequest request;
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  std::string keys = "{";
  for (std::size_t i = 0; i <= kReadKeysMax; ++i) keys += "\"k" + std::to_string(i) + "\":0,";
  std::string values = "[";
  for (std::size_t i = 0; i < kReadValuesMax; ++i) values += "0,";
  for (const std::string& text :
       {std::string(), std::string("  "), std::string("{"), std::string("{} {}"), std::string("{'a': 1}"),
        std::string("{\"reason\": \"\xff\"}"), std::string(R"({"job_id": 1, "job_id": 2})"), nested(kReadDepthMax + 1),
        nested(100'000), keys + "\"k\":0}", values + "0]", std::string(kReadBytesMax + 1, ' ')}) {
    const Status status = Refusal(&request, text);
    EXPECT_EQ(status.reason(), "BAD_JSON") << text.substr(0, 40);
    EXPECT_FALSE(status.fix().empty());
  }
  EXPECT_TRUE(ParseJson(nested(kReadDepthMax)).ok());
  EXPECT_THAT(Refusal(&request, R"({"job_id": 1, "job_id": 2})").message(), HasSubstr("'job_id' is there twice"));
}

TEST(ReadFieldText, TakesWhatAQueryHas) {
  v1::ListJobsRequest request;
  ASSERT_TRUE(ReadFieldText("all", "true", &request).ok());
  ASSERT_TRUE(ReadFieldText("page_size", "17", &request).ok());
  ASSERT_TRUE(ReadFieldText("states", "running", &request).ok());
  ASSERT_TRUE(ReadFieldText("states", "queued", &request).ok());
  ASSERT_TRUE(ReadFieldText("user", "17", &request).ok()) << "text that looks like a number is text";
  EXPECT_TRUE(request.all());
  EXPECT_EQ(request.page_size(), 17U);
  EXPECT_EQ(request.states_size(), 2);
  EXPECT_EQ(request.user(), "17");
  EXPECT_EQ(ReadFieldText("page_size", "many", &request).field(), "page_size");
  EXPECT_EQ(ReadFieldText("page_size", "-1", &request).field(), "page_size");
  EXPECT_EQ(ReadFieldText("pagesize", "1", &request).fix(), "did you mean page_size?");
  EXPECT_EQ(ReadFieldText("user", "\xff", &request).field(), "user") << "JSON's text is UTF-8, and a query's, too";
  v1::SubmitRequest submit;
  EXPECT_EQ(ReadFieldText("specs", "{}", &submit).field(), "specs");
}

TEST(ParseRfc3339, IsTheInverse) {
  Rng rng(3);
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint point{rng.Between(-62'167'219'200'000, 253'402'300'799'999)};
    const auto read = ParseRfc3339(FormatRfc3339(point));
    ASSERT_TRUE(read) << FormatRfc3339(point);
    ASSERT_EQ(read->ms, point.ms);
  }
  EXPECT_EQ(ParseRfc3339("1970-01-01T01:00:00.5+01:00")->ms, 500);
  EXPECT_EQ(ParseRfc3339("1969-12-31T23:30:00.1239-00:30")->ms, 123);
  for (const char* text : {"", "1970-01-01", "1970-01-01T00:00:00", "1970-13-01T00:00:00Z", "2023-02-29T00:00:00Z",
                           "1970-01-01T24:00:00Z", "1970-01-01T00:00:60Z", "1970-01-01T00:00:00.Z",
                           "1970-01-01T00:00:00+1:00", "1970-01-01 00:00:00Z", "1970-01-01T00:00:00Zz"}) {
    EXPECT_FALSE(ParseRfc3339(text)) << text;
  }
}

}  // namespace
}  // namespace glim::proto
