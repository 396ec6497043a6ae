// A secret from standard input: never from the command line, where every user of the machine can read it.
// Main thread only.
#pragma once

#include <string>

#include "sdk/base/result.h"

namespace glim::cli {

// One line of a terminal, asked for by `question` and not echoed.
Result<std::string> AskSecretLine(const std::string& question);

// The whole of standard input, at most `bytes_max`; of a terminal one line, as above. INVALID_ARGUMENT (NO_INPUT):
// nothing came.
Result<std::string> ReadSecret(const std::string& question, std::size_t bytes_max);

}  // namespace glim::cli
