// glim-task's commands: what a shell script may say and ask. Each returns the program's exit status.
#pragma once

#include <cstdint>
#include <string>

namespace glim::nodeagent {

// Exit statuses, documented in docs/protocols/task-socket.md.
inline constexpr int kDone = 0;
inline constexpr int kNotInterrupted = 1;
inline constexpr int kTrouble = 3;  // the agent could not be reached, or refused; the job may go on all the same

struct SavedArguments {
  std::int64_t step = 0;
  std::string path;
  std::int64_t bytes = 0;
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  double seconds = 0;
};

// `timeout_s`: how long an agent that is away is waited for.
int Interrupted(bool wait, double timeout_s);
int Progress(std::int64_t step, double step_s, double timeout_s);
int Saved(const SavedArguments& saved, double timeout_s);
// `step` -1: the last one that was reported.
int SaveFailed(std::int64_t step, const std::string& error, double timeout_s);
int Restored(std::int64_t step, double seconds, double timeout_s);
// `path` empty: GLIM_RESUME_PATH; `step` -1: GLIM_RESUME_STEP.
int RestoreFailed(std::int64_t step, std::string path, const std::string& error, double timeout_s);
int Needs(double seconds, double timeout_s);
int Leave(double timeout_s);

}  // namespace glim::nodeagent
