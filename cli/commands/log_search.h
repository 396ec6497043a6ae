// glim logs --grep: lines of a job's logs that hold a word, found by the nodes' agents, page by page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/commands/command.h"

namespace glim::cli {

struct LogSearchOptions {
  std::uint64_t job_id = 0;
  std::uint32_t attempt = 0;
  std::optional<std::uint32_t> rank;  // none: all
  std::string word;
  bool ignore_case = false;
  bool newest_first = false;
  bool raw = false;
  std::uint32_t context = 0;
  std::uint32_t lines_max = 0;  // that hold the word; 0: all
};

Status SearchLogs(CommandContext& context, const LogSearchOptions& options);

}  // namespace glim::cli
