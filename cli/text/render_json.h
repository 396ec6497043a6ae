// JSON for programs. Rules, kept stable (docs/cli.md): every document is one object with "version": 1; fields have the
// names of the protobuf schema and are always there; integers are numbers, ids included; enumerations are lower-case
// words; a time `x_at_ms` has a twin `x_at` in RFC 3339 (null: not yet). Pure.
#pragma once

#include <string>

#include <google/protobuf/message.h>
#include <nlohmann/json.hpp>

#include "glim/v1/job.pb.h"

namespace glim::cli {

using Json = nlohmann::ordered_json;

// {"version": 1}.
Json NewDocument();

// Any message of ours by the rules above. `bytes` fields have no place in it (CHECK).
Json MessageJson(const google::protobuf::Message& message);

// As MessageJson, and "gpus" (in all) and "gpus_simulated" (of the newest attempt).
Json JobJson(const glim::v1::Job& job);

// One line and a newline. Broken UTF-8 is replaced, control characters are escaped.
std::string DumpJson(const Json& document);

}  // namespace glim::cli
