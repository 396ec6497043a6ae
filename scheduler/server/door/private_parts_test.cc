// What others see of a job: a word that is planted in every text of it is gone from all but the named places.
#include "scheduler/server/door/private_parts.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace glim::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::ElementsAre;

constexpr char kWord[] = "planted";

// Every field of the message and of all below it, once.
void Fill(Message* message) {
  const auto* const reflection = message->GetReflection();
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message->GetDescriptor()->field(i);
    const bool many = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Fill(many ? reflection->AddMessage(message, field) : reflection->MutableMessage(message, field));
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        many ? reflection->AddString(message, field, kWord) : reflection->SetString(message, field, kWord);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        many ? reflection->AddUInt64(message, field, 1) : reflection->SetUInt64(message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        many ? reflection->AddUInt32(message, field, 1) : reflection->SetUInt32(message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_INT64: reflection->SetInt64(message, field, 1); break;
      case FieldDescriptor::CPPTYPE_INT32: reflection->SetInt32(message, field, 1); break;
      case FieldDescriptor::CPPTYPE_BOOL: reflection->SetBool(message, field, true); break;
      case FieldDescriptor::CPPTYPE_ENUM: reflection->SetEnumValue(message, field, 1); break;
      default: FAIL() << "fill " << field->full_name() << ", too";
    }
  }
}

void FindTexts(const Message& message, const std::string& at, std::set<std::string>* found) {
  const auto* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    const std::string path = at + (at.empty() ? "" : ".") + field->name();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) found->insert(path);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      FindTexts(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                     : reflection->GetMessage(message, field),
                path, found);
    }
  }
}

template <typename T>
std::set<std::string> TextsLeft() {
  T message;
  Fill(&message);
  RemovePrivateParts(&message);
  std::set<std::string> found;
  FindTexts(message, "", &found);
  return found;
}

TEST(PrivateParts, OfAJobOthersSeeNameStateSizeAndTimes) {
  EXPECT_THAT(TextsLeft<v1::Job>(),
              ElementsAre("attempts.agreements.preemptor_name", "attempts.agreements.preemptor_user",
                          "attempts.agreements.reason", "attempts.agreements.state", "attempts.outcome",
                          "attempts.save", "attempts.state", "attempts.tasks.node", "attempts.tasks.phase",
                          "attempts.tasks.zone", "attempts.zones", "blockers.kind", "priority", "protection",
                          "spec.name", "spec.placement.cross_zone", "spec.placement.gpu_type", "spec.placement.leaf",
                          "spec.placement.nic", "spec.placement.node", "spec.placement.nvlink", "spec.placement.zones",
                          "spec.pool", "spec.priority", "spec.team", "state", "team", "user"))
      << "a new field is private unless it is named";
}

TEST(PrivateParts, NumbersThatOthersSeeStay) {
  v1::Job job;
  Fill(&job);
  RemovePrivateParts(&job);
  EXPECT_EQ(job.id(), 1U);
  EXPECT_EQ(job.spec().nodes(), 1U);
  EXPECT_EQ(job.submitted_at_ms(), 1);
  EXPECT_EQ(job.attempts(0).tasks(0).step(), 1);
  EXPECT_EQ(job.spec().env_size() + job.spec().mounts_size() + job.spec().secrets_size(), 0);
  EXPECT_FALSE(job.spec().has_snapshot());
  EXPECT_FALSE(job.spec().has_checkpoint());
}

TEST(PrivateParts, APlannersWordsStayAndOthersGo) {
  v1::Job job;
  job.add_blockers()->set_kind("nodes_busy");
  job.add_blockers()->set_kind("backoff");
  job.add_blockers()->set_kind("user");
  for (v1::Blocker& blocker : *job.mutable_blockers()) blocker.set_message("no such folder: /home/kim");
  RemovePrivateParts(&job);
  EXPECT_FALSE(job.blockers(0).message().empty());
  EXPECT_TRUE(job.blockers(1).message().empty()) << "it quotes what went wrong last";
  EXPECT_TRUE(job.blockers(2).message().empty()) << "it tells who has which uid";
}

TEST(PrivateParts, OfAnEndedJobAndOfAUser) {
  EXPECT_THAT(TextsLeft<v1::EndedJob>(), ElementsAre("name", "pool", "priority", "state", "team", "user"));
  EXPECT_THAT(TextsLeft<v1::AccountUser>(), ElementsAre("admin_of", "name", "teams"));
  EXPECT_THAT(TextsLeft<v1::Node>(), ::testing::Not(::testing::Contains("suspect_why")));
  EXPECT_THAT(TextsLeft<v1::Node>(), ::testing::Not(::testing::Contains("exposed_sockets"))) << "operators' alone";
  v1::Node node;
  Fill(&node);
  RemovePrivateParts(&node);
  EXPECT_TRUE(node.has_only_uid() && node.needs_uid()) << "why one's jobs are not there";
  EXPECT_EQ(node.health_events(0).check(), kWord);
  EXPECT_EQ(node.health_events(0).job_id(), 1u) << "as its holder";
  EXPECT_EQ(node.health_events(0).text(), "") << "the kernel's line names processes";
  EXPECT_EQ(node.inventory().gpus(0).type(), kWord);
}

}  // namespace
}  // namespace glim::server
