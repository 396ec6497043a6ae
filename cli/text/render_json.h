// The documents of `-o json` (docs/cli.md). Messages are rendered by proto/json/message_json.h; here is what the CLI
// adds. Pure.
#pragma once

#include <string>

#include "glim/v1/job.pb.h"
#include "proto/json/message_json.h"

namespace glim::cli {

using proto::Json;
using proto::MessageJson;
using proto::NewDocument;

// As MessageJson, and "gpus" (in all) and "gpus_simulated" (of the newest attempt).
Json JobJson(const glim::v1::Job& job);

// One line and a newline. Broken UTF-8 is replaced, control characters are escaped.
std::string DumpJson(const Json& document);

}  // namespace glim::cli
