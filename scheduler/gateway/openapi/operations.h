// One route as an operation of OpenAPI: its parameters, body, answers and who may. One thread.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>

#include "proto/json/message_json.h"
#include "scheduler/gateway/openapi/schemas.h"
#include "scheduler/gateway/routes.h"

namespace glim::gateway {

// `pool` has the schema with its comments.
proto::Json OperationOf(const Route& route, const google::protobuf::DescriptorPool& pool, Schemas* schemas);

// {"200": shown, "400": ..., ...}: with all refusals that any request may meet, and those of bodies.
proto::Json Answers(proto::Json shown, bool with_body);
// A document's 200, with its tag.
proto::Json DocumentShown(proto::Json schema);
// With a token, by header or by cookie.
proto::Json ByToken(std::string_view verb);

// #/components/responses, with a refusal of each status.
proto::Json Refusals();

}  // namespace glim::gateway
