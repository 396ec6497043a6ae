// The documents of `-o json` (docs/cli.md), in the command line's own names.
#pragma once

#include "proto/json/document.h"

namespace glim::cli {

using proto::DumpJson;
using proto::JobJson;
using proto::Json;
using proto::MessageJson;
using proto::NewDocument;

}  // namespace glim::cli
