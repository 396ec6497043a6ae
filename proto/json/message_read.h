// JSON into messages: the strict inverse of message_json.h, for what programs send (docs/http.md).
//
// What is left out has its default. Refused, with the field's path, what is wrong and how to mend it: a field that the
// schema does not have, another type, a number out of range, a word that the enumeration does not have, a key twice,
// two members of a oneof, what is nested too deep or too large. A point in time may be written as `x_at_ms` or as its
// twin `x_at`; if both are there they agree. A message's null is one that is not set.
//
// Pure: any thread, no state. Safe for text from anywhere.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/message.h>

#include "proto/json/json_tree.h"
#include "sdk/base/result.h"

namespace glim::proto {

// Into an empty message; `path` is where the object stands, empty: it is the whole. INVALID_ARGUMENT (BAD_FIELD).
Status ReadMessage(const Json& object, const std::string& path, google::protobuf::Message* out);

// Both.
Status ReadMessageText(std::string_view text, google::protobuf::Message* out);

// One field by its name, from text as a query string has it: "true", "17", "per_gpu", "2026-11-20T12:09:07Z" for a
// twin. A repeated field takes one more element. Messages and bytes are refused: they come in a body.
Status ReadFieldText(std::string_view name, std::string_view text, google::protobuf::Message* out);

}  // namespace glim::proto
