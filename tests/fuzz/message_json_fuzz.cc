// Any bytes as a request's JSON: a message that is written and read the same again, or a refusal that can be printed
// and says how to mend it. The first byte chooses the message.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "glim/v1/admin_api.pb.h"
#include "glim/v1/client_api.pb.h"
#include "glim/v1/operate_api.pb.h"
#include "glim/v1/report_api.pb.h"
#include "proto/json/message_read.h"
#include "sdk/base/utf8.h"
#include "tests/fuzz/holds.h"

namespace glim::proto {
namespace {

using fuzz::Holds;
using google::protobuf::Message;

constexpr std::size_t kRefusalBytesMax = 4'096;

void CheckRefusal(const Status& status) {
  Holds(status.code() == StatusCode::kInvalidArgument, "a refusal's code", status.message());
  Holds(status.reason() == "BAD_JSON" || status.reason() == "BAD_FIELD", "a refusal's reason", status.reason());
  for (const std::string& text : {status.message(), status.field(), status.fix()}) {
    Holds(text.size() <= kRefusalBytesMax, "a refusal is short", text);
    Holds(FirstInvalidUtf8(text) == std::string::npos, "a refusal is UTF-8", text);
    Holds(FirstControl(text, false) == std::string::npos, "a refusal is printable", text);
  }
}

void Read(std::unique_ptr<Message> message, std::string_view text) {
  if (const Status status = ReadMessageText(text, message.get()); !status.ok()) return CheckRefusal(status);
  const std::string written = MessageJson(*message).dump();
  const std::unique_ptr<Message> again(message->New());
  const Status status = ReadMessageText(written, again.get());
  Holds(status.ok(), "what is written is read", status.message());
  Holds(google::protobuf::util::MessageDifferencer::Equals(*message, *again), "and is the same", written);
}

}  // namespace
}  // namespace glim::proto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace v1 = glim::v1;
  static const std::array<const google::protobuf::Message*, 8> kTypes = {
      &v1::SubmitRequest::default_instance(),
      &v1::ListJobsRequest::default_instance(),
      &v1::DrainNodeRequest::default_instance(),
      &v1::ChangeAccountRequest::default_instance(),
      &v1::SetSecretRequest::default_instance(),
      &v1::InviteNodeRequest::default_instance(),
      &v1::GetHistoryReportResponse::default_instance(),
      &v1::GetJobResponse::default_instance()};
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  glim::proto::Read(std::unique_ptr<google::protobuf::Message>(kTypes[data[0] % kTypes.size()]->New()), text);
  return 0;
}
