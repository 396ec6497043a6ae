#include "scheduler/gateway/request_fields.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "glim/v1/client_api.pb.h"
#include "proto/json/message_read.h"
#include "scheduler/jobfile/spec_reader.h"
#include "sdk/base/printable.h"

namespace glim::gateway {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kQuotedMax = 64;
constexpr std::size_t kYamlBytesMax = std::size_t{1} << 20;
constexpr const char* kMask = "fields";  // of the query: about the answer (answers.h)

Status Bad(const char* reason, const std::string& field, std::string message, std::string fix) {
  return Status(StatusCode::kInvalidArgument, std::move(message))
      .WithReason(reason)
      .WithField(field)
      .WithFix(std::move(fix));
}

Status MediaTypeRefused(const std::string& type, const Route& route) {
  const std::string takes = route.form == v1::Http::SPECS ? "application/json or application/yaml" : "application/json";
  return Status(StatusCode::kUnimplemented,
                "the body is " + (type.empty() ? "of no type" : EscapedStart(type, kQuotedMax)))
      .WithReason("MEDIA_TYPE")
      .WithField("Content-Type")
      .WithFix("send " + takes);
}

// Job files, as `glim submit` reads them. There is no folder that a path could be relative to.
Status ReadJobFiles(const std::string& text, Message* message) {
  if (text.size() > kYamlBytesMax)
    return Bad("BODY_TOO_LARGE", "", "the job files are larger than 1 MiB", "send fewer at a time");
  auto specs = jobfile::ReadSpecs(text, {"body", ""});
  if (!specs.ok()) {
    const Status& wrong = specs.status();
    return wrong.fix().empty() ? Status(wrong).WithFix("write it as docs/job-spec.md has it") : wrong;
  }
  const FieldDescriptor* const field = message->GetDescriptor()->FindFieldByName("specs");
  std::size_t index = 0;
  for (v1::JobSpec& spec : *specs) {
    const std::string at = "specs[" + std::to_string(index++) + "].";
    if (!spec.workdir().starts_with('/')) {
      return Bad("INVALID_SPEC", at + "workdir",
                 "workdir: '" + EscapedStart(spec.workdir(), kQuotedMax) + "' is relative",
                 "write all of the path: over HTTP there is no folder that it could begin in");
    }
    if (spec.has_snapshot()) {
      return Bad("INVALID_SPEC", at + "code", "code: snapshot: nobody packs the folder here",
                 "use `glim submit`, or code: workdir");
    }
    static_cast<v1::JobSpec*>(message->GetReflection()->AddMessage(message, field))->Swap(&spec);
  }
  return Status::Ok();
}

// A path's field, also where the body has said the same.
Status SetPathField(std::string_view name, const std::string& text, Message* message) {
  const std::size_t dot = name.find('.');
  if (dot != std::string_view::npos) {
    const FieldDescriptor* const outer = message->GetDescriptor()->FindFieldByName(std::string(name.substr(0, dot)));
    return SetPathField(name.substr(dot + 1), text, message->GetReflection()->MutableMessage(message, outer));
  }
  const FieldDescriptor* const field = message->GetDescriptor()->FindFieldByName(std::string(name));
  const std::unique_ptr<Message> said(message->New());
  if (Status s = proto::ReadFieldText(name, text, said.get()); !s.ok()) return s;
  const proto::Json wanted = proto::MessageJson(*said)[field->name()];
  const proto::Json before = proto::MessageJson(*message)[field->name()];
  const proto::Json unset = proto::MessageJson(*std::unique_ptr<Message>(message->New()))[field->name()];
  if (before != unset && before != wanted) {
    return Bad("BAD_FIELD", field->name(), field->name() + ": the body says another one than the path",
               "leave it out of the body");
  }
  return proto::ReadFieldText(name, text, message);
}

Status ReadQuery(const Match& match, const HttpRequest& request, Message* message) {
  std::set<std::string> seen;
  for (const auto& [name, value] : request.query) {
    if (name == kMask) continue;
    const FieldDescriptor* const field = message->GetDescriptor()->FindFieldByName(name);
    const bool again = !seen.insert(name).second && (field == nullptr || !field->is_repeated());
    if (again) return Bad("BAD_QUERY", EscapedStart(name, kQuotedMax), "it is there twice", "leave one out");
    const bool of_path = std::any_of(match.fields.begin(), match.fields.end(),
                                     [&name = name](const auto& said) { return said.first == name; });
    if (of_path) return Bad("BAD_QUERY", EscapedStart(name, kQuotedMax), "the path says it", "leave it out");
    if (Status s = proto::ReadFieldText(name, value, message); !s.ok()) {
      if (name == "page_size") return std::move(s).WithFix("use 1 to 1000, or leave it out");
      return s;
    }
  }
  return Status::Ok();
}

Status ReadBody(const Route& route, const HttpRequest& request, Message* message) {
  if (request.body.empty()) return Status::Ok();
  const std::string type = MediaType(request);
  const bool yaml = type == "application/yaml" || type == "application/x-yaml" || type == "text/yaml";
  if (route.form == v1::Http::SPECS && yaml) return ReadJobFiles(request.body, message);
  if (type != "application/json") return MediaTypeRefused(type, route);
  return proto::ReadMessageText(request.body, message);
}

}  // namespace

std::string MediaType(const HttpRequest& request) {
  const std::string* const header = request.Header("content-type");
  if (header == nullptr) return {};
  std::string type = header->substr(0, header->find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type;
}

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
}

Result<std::unique_ptr<Message>> RequestMessage(const Match& match, const HttpRequest& request) {
  auto message = NewMessage(match.route->rpc->input_type());
  const bool may_have_body = request.verb == "POST" || request.verb == "PUT";
  if (!may_have_body && !request.body.empty()) {
    return Bad("BAD_FIELD", "", request.verb + " takes no body", "put the fields into the query");
  }
  if (Status s = ReadBody(*match.route, request, message.get()); !s.ok()) return s;
  if (Status s = ReadQuery(match, request, message.get()); !s.ok()) return s;
  for (const auto& [name, text] : match.fields) {
    if (Status s = SetPathField(name, text, message.get()); !s.ok()) return s;
  }
  return message;
}

}  // namespace glim::gateway
