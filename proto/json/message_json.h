// The JSON of the protocol's messages: one form for the CLI's `-o json` and for whatever else shows messages to
// programs.
//
// A message is an object. Its fields have the names of the schema (proto/glim/v1) and are always there. Integers are
// numbers, 64-bit ones too. Enumerations are lower-case words without the prefix of their type. A message or a member
// of a oneof that is not set is null. A map is an object, its keys in their order. A point in time `x_at_ms` has a twin
// `x_at` in RFC 3339 (null: not yet). `bytes` are base64.
//
// Pure: any thread, no state, no failure. A change of this form is a new version (kJsonVersion; docs/cli.md).
#pragma once

#include <string>

#include <google/protobuf/message.h>
#include <nlohmann/json.hpp>

namespace glim::proto {

using Json = nlohmann::ordered_json;  // fields stay in the order of the schema

inline constexpr int kJsonVersion = 2;

// {"version": 2}: how every document begins.
Json NewDocument();

Json MessageJson(const google::protobuf::Message& message);

}  // namespace glim::proto
