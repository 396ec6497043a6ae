#include "scheduler/gateway/answers.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <utility>

#include "glim/v1/job.pb.h"
#include "proto/json/document.h"
#include "proto/json/field_words.h"
#include "sdk/base/printable.h"
#include "sdk/base/status_name.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using proto::Json;

constexpr const char* kVersion = "version";
constexpr std::size_t kMaskBytesMax = 2'000;
constexpr std::size_t kPathQuotedMax = 64;

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The parts between commas, one after the other.
template <typename Each>
void ForEachPart(std::string_view list, Each each) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    each(Trimmed(list.substr(0, end)));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

// What is kept: nothing below means all of it.
struct Mask {
  std::map<std::string, Mask, std::less<>> below;
};

Status NoSuchField(std::string_view path) {
  return Status(StatusCode::kInvalidArgument, "fields: the answer has no " + EscapedStart(path, kPathQuotedMax))
      .WithReason("BAD_FIELD")
      .WithField("fields")
      .WithFix("name fields of the answer, like fields=jobs.id,jobs.state");
}

// What the path's first word is in a message of that type; null: a leaf. False: nothing.
bool StepInto(const Descriptor* type, std::string_view name, const Descriptor** next) {
  *next = nullptr;
  if (type == nullptr) return false;
  if (type->full_name() == "glim.v1.Job" && (name == "gpus" || name == "gpus_simulated")) return true;
  const FieldDescriptor* field = type->FindFieldByName(std::string(name));
  if (field == nullptr) {
    field = type->FindFieldByName(std::string(name) + "_ms");
    return field != nullptr && proto::IsPointInTime(*field);
  }
  if (!field->is_map()) *next = field->message_type();  // null: a leaf
  return true;
}

Status AddPath(std::string_view path, const Descriptor* type, Mask* mask) {
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!StepInto(type, name, &type)) return NoSuchField(path);
    mask = &mask->below[std::string(name)];
  }
  return Status::Ok();
}

void Keep(const Mask& mask, Json* value) {
  if (mask.below.empty()) return;
  if (value->is_array()) {
    for (Json& item : *value) Keep(mask, &item);
  } else if (value->is_object()) {
    Json kept = Json::object();
    for (auto& [name, item] : value->items()) {
      const auto below = mask.below.find(name);
      if (below == mask.below.end()) continue;
      Keep(below->second, &item);
      kept[name] = std::move(item);
    }
    *value = std::move(kept);
  }
}

// As the command line shows jobs, wherever the answer has one as a field of its own.
void CompleteJobs(const Message& message, Json* document) {
  const Descriptor& type = *message.GetDescriptor();
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.message_type() != v1::Job::descriptor()) continue;
    if (!field.is_repeated()) {
      if (!reflection.HasField(message, &field)) continue;
      (*document)[field.name()] = proto::JobJson(static_cast<const v1::Job&>(reflection.GetMessage(message, &field)));
      continue;
    }
    Json list = Json::array();
    for (int k = 0; k < reflection.FieldSize(message, &field); ++k) {
      list.push_back(proto::JobJson(static_cast<const v1::Job&>(reflection.GetRepeatedMessage(message, &field, k))));
    }
    (*document)[field.name()] = std::move(list);
  }
}

HttpAnswer ErrorDocument(int http, const std::string& code, const Status& status) {
  Json error;
  error["code"] = code;
  error["reason"] = status.reason().empty() ? code : status.reason();
  error["message"] = status.message();
  error["field"] = status.field();
  error["fix"] = status.fix();
  Json document = proto::NewDocument();
  document["error"] = std::move(error);
  HttpAnswer answer;
  answer.status = http;
  answer.content_type = kJsonType;
  answer.body = std::make_shared<const std::string>(DumpDocument(document));
  if (http == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"glim\"");
  if (http == 429 || http == 503) answer.headers.emplace_back("Retry-After", "10");
  return answer;
}

}  // namespace

int HttpStatusOf(const Status& status) {
  if (status.reason() == "MEDIA_TYPE") return 415;
  if (status.reason() == "BODY_TOO_LARGE") return 413;
  if (status.reason() == "CSRF") return 403;
  switch (status.code()) {
    case StatusCode::kOk: return 200;
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange: return 400;
    case StatusCode::kUnauthenticated: return 401;
    case StatusCode::kPermissionDenied: return 403;
    case StatusCode::kNotFound: return 404;
    case StatusCode::kAlreadyExists:
    case StatusCode::kAborted: return 409;
    case StatusCode::kFailedPrecondition: return 422;
    case StatusCode::kResourceExhausted: return 429;
    case StatusCode::kUnimplemented: return 501;
    case StatusCode::kUnavailable: return 503;
    case StatusCode::kDeadlineExceeded: return 504;
    case StatusCode::kCancelled:
    case StatusCode::kUnknown:
    case StatusCode::kInternal:
    case StatusCode::kDataLoss: return 500;
  }
  return 500;
}

HttpAnswer ErrorAnswer(const Status& status) {
  if (status.code() == StatusCode::kUnimplemented && status.message().empty()) {
    return ErrorAnswer(Status(StatusCode::kUnimplemented, "this scheduler has no such method")
                           .WithReason("UNIMPLEMENTED")
                           .WithFix("ask a newer one: GET /v1/version says which this is"));
  }
  return ErrorDocument(HttpStatusOf(status), std::string(StatusName(status.code())), status);
}

HttpAnswer ErrorAnswer(int status, std::string reason, std::string message, std::string fix) {
  const StatusCode code = status == 404   ? StatusCode::kNotFound
                          : status == 503 ? StatusCode::kUnavailable
                          : status == 429 ? StatusCode::kResourceExhausted
                          : status == 408 ? StatusCode::kDeadlineExceeded
                          : status == 403 ? StatusCode::kPermissionDenied
                                          : StatusCode::kInvalidArgument;
  return ErrorDocument(status, std::string(StatusName(code)),
                       Status(code, std::move(message)).WithReason(std::move(reason)).WithFix(std::move(fix)));
}

Json Document(const Message& message) {
  Json document = proto::NewDocument();
  Json fields = proto::MessageJson(message);
  if (const auto own = fields.find(kVersion); own != fields.end()) {  // the document's own has that name
    document[kSchedulerVersion] = std::move(*own);
    fields.erase(own);
  }
  document.update(fields);
  CompleteJobs(message, &document);
  return document;
}

std::string DumpDocument(const Json& document) { return proto::DumpJson(document); }

Status ApplyMask(std::string_view mask, const Message& message, Json* document) {
  if (mask.size() > kMaskBytesMax) return NoSuchField(mask);
  Mask kept;
  Status status;
  ForEachPart(mask, [&](std::string_view path) {
    if (!status.ok() || path.empty()) return;
    const bool own = path == kSchedulerVersion && message.GetDescriptor()->FindFieldByName(kVersion) != nullptr;
    if (own) {
      kept.below[kSchedulerVersion];
    } else {
      status = AddPath(path, message.GetDescriptor(), &kept);
    }
  });
  if (!status.ok() || kept.below.empty()) return status;
  kept.below[kVersion];
  Keep(kept, document);
  return Status::Ok();
}

std::string TagOf(std::string_view body) { return "\"" + HashOf(body).substr(0, 32) + "\""; }

bool NamesTag(std::string_view if_none_match, std::string_view tag) {
  bool named = false;
  ForEachPart(if_none_match, [&](std::string_view one) {
    if (one.starts_with("W/")) one.remove_prefix(2);  // If-None-Match compares weakly
    const std::string packed = std::string(tag.substr(0, tag.size() - 1)) + kGzipMark + "\"";
    named = named || one == "*" || one == tag || one == packed;
  });
  return named;
}

HttpAnswer DocumentAnswer(const HttpRequest& request, std::string text) {
  HttpAnswer answer;
  const std::string tag = TagOf(text);
  answer.headers.emplace_back("ETag", tag);
  const std::string* const known = request.Header("if-none-match");
  if (known != nullptr && (request.verb == "GET" || request.verb == "HEAD") && NamesTag(*known, tag)) {
    answer.status = 304;
    return answer;
  }
  answer.content_type = kJsonType;
  answer.body = std::make_shared<const std::string>(std::move(text));
  return answer;
}

bool AcceptsGzip(const HttpRequest& request) {
  const std::string* const header = request.Header("accept-encoding");
  if (header == nullptr) return false;
  bool accepts = false;
  ForEachPart(*header, [&](std::string_view one) {
    const std::size_t semicolon = one.find(';');
    const std::string_view name = Trimmed(one.substr(0, semicolon));
    const std::string_view quality = semicolon == std::string_view::npos ? "" : Trimmed(one.substr(semicolon + 1));
    const bool refused = quality.starts_with("q=0") && quality.find_first_of("123456789") == std::string_view::npos;
    if (name == "gzip" || name == "*") accepts = !refused;
  });
  return accepts;
}

}  // namespace glim::gateway
