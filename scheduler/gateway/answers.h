// From what an RPC said to what HTTP says: documents in the command line's dialect (docs/cli.md), errors with their
// status, the mask, the tag that lets an unchanged answer be 304. Pure; any thread.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "proto/json/message_json.h"
#include "scheduler/gateway/http_types.h"
#include "sdk/base/result.h"
#include "sdk/base/status.h"

namespace glim::gateway {

inline constexpr char kJsonType[] = "application/json";

int HttpStatusOf(const Status& status);

// {"version": 2, "error": {code, reason, message, field, fix}}. 401 says how to show who one is.
HttpAnswer ErrorAnswer(const Status& status);
// The same of what the gateway itself refuses, with a status of its own.
HttpAnswer ErrorAnswer(int status, std::string reason, std::string message, std::string fix);

// What a field `version` of a message is called in a document, whose own `version` is that of the documents' form.
inline constexpr char kSchedulerVersion[] = "scheduler_version";

// {"version": 2, ...} with the message's fields; a job has `gpus` and `gpus_simulated`, as of the command line.
proto::Json Document(const google::protobuf::Message& message);
// One line, as `glim -o json` writes it.
std::string DumpDocument(const proto::Json& document);

// Only what "jobs.id,jobs.state,next_page_token" names; `version` stays. An empty list has no fields that could be
// unknown: the mask is held to the message's type. INVALID_ARGUMENT (BAD_FIELD) names what there is not.
Status ApplyMask(std::string_view mask, const google::protobuf::Message& message, proto::Json* document);

// 200 with a tag; 304 without a body where the request has the same one.
HttpAnswer DocumentAnswer(const HttpRequest& request, std::string text);
// Strong: the hash of the body. In its quotes.
std::string TagOf(std::string_view body);
// Before a tag's last quote: the same text, compressed.
inline constexpr char kGzipMark[] = "-gz";
// Of If-None-Match: a list of tags, or "*".
bool NamesTag(std::string_view if_none_match, std::string_view tag);

// Whether Accept-Encoding takes gzip.
bool AcceptsGzip(const HttpRequest& request);

}  // namespace glim::gateway
