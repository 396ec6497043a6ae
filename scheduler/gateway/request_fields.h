// From an HTTP request to the RPC's message: fields of the path, of the query and of the body, each read strictly
// (proto/json/message_read.h). Pure; any thread.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>

#include "scheduler/gateway/http_types.h"
#include "scheduler/gateway/routes.h"
#include "sdk/base/result.h"

namespace glim::gateway {

// A message of that type, empty.
std::unique_ptr<google::protobuf::Message> NewMessage(const google::protobuf::Descriptor* type);

// INVALID_ARGUMENT (BAD_FIELD, BAD_JSON, BAD_QUERY, and of job files INVALID_SPEC), with the field and a way to mend
// it; UNIMPLEMENTED (MEDIA_TYPE) for a body that is neither JSON nor what the route takes.
Result<std::unique_ptr<google::protobuf::Message>> RequestMessage(const Match& match, const HttpRequest& request);

// The media type alone, in lower case: "application/json".
std::string MediaType(const HttpRequest& request);

}  // namespace glim::gateway
