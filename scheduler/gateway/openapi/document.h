// The HTTP API as an OpenAPI 3.1 document, made from the routes, the permissions and the protocol's files with their
// comments: docs/openapi.json, which GET /v1/openapi.json answers with. Pure; any thread.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "proto/json/message_json.h"

namespace glim::gateway {

// `pool` has the schema with its comments.
proto::Json OpenApiDocument(const google::protobuf::DescriptorPool& pool);

// Readable, and small: what fits into a line is one.
std::string LaidOut(const proto::Json& value);

}  // namespace glim::gateway
