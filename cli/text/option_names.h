// Refusals name fields of the API; who typed a command line knows its options. Pure.
#pragma once

#include "sdk/base/status.h"

namespace glim::cli {

// The same refusal, its field as the option of an operator's command that fills it: ends_at_ms is --until,
// labels.gpu_count is --gpus. A field that has no option stays.
Status WithOptionNames(const Status& status);

}  // namespace glim::cli
