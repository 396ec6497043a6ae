#include "nodeagent/programs/task/commands.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "nodeagent/programs/task/task_client.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;
using Clock = TaskClient::Clock;

constexpr std::size_t kReasonBytesMax = 4096;  // the agent keeps less

// None when this is no task of Glim's: then the script runs as it would without Glim.
std::optional<TaskClient> Client() {
  const char* socket = std::getenv(NameOf(TaskVariable::kSocket));
  const char* rank = std::getenv(NameOf(TaskVariable::kGlimRank));
  if (!socket || !rank || !*socket) {
    std::fprintf(stderr, "glim-task: not in a Glim job (GLIM_SOCKET and GLIM_RANK are not set); nothing is done\n");
    return std::nullopt;
  }
  return TaskClient(socket, static_cast<std::uint32_t>(std::strtoul(rank, nullptr, 10)));
}

Clock::time_point Until(double timeout_s) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
}

int Trouble(const Status& status) {
  std::fprintf(stderr, "glim-task: %s\n", status.message().c_str());
  return kTrouble;
}

int SayOne(const json& message, double timeout_s) {
  std::optional<TaskClient> client = Client();
  if (!client) return kDone;
  const Status status = client->Say(message, Until(timeout_s));
  return status.ok() ? kDone : Trouble(status);
}

// Waits for the verdict of `agreement` after having acknowledged it with `hold`: whether to stop here. None: lost the
// connection, ask again.
std::optional<bool> AwaitVerdict(TaskClient& client, std::uint32_t agreement, std::int64_t hold) {
  for (;;) {
    const Result<json> message = client.Hear(std::nullopt);
    if (!message.ok()) return std::nullopt;
    const std::string type = message->value("type", "");
    if (message->value("agreement", 0u) != agreement) {
      if (type == "interrupt") return std::nullopt;  // a newer agreement: begin again
      continue;
    }
    if (type == "stop_now") return true;
    if (type == "withdrawn") return false;
    // Steps up to S are still to be run; the script asks again after each.
    if (type == "stop_at") return message->value("step", std::int64_t{-1}) <= hold;
  }
}

// One look at the flag. None: nothing is in force.
std::optional<bool> Ask(TaskClient& client, const Welcome& welcome, Clock::time_point until, Status* trouble) {
  if (welcome.agreement == 0) return std::nullopt;
  json ack = {{"type", "ack"}, {"agreement", welcome.agreement}};
  // A job that counts no steps can stop wherever it asks, whatever the others agree on.
  const bool counts = welcome.step >= 0;
  if (counts) {
    ack["hold"] = welcome.step;
  } else {
    ack["finished"] = true;
  }
  *trouble = client.Say(ack, until);
  if (!trouble->ok()) return std::nullopt;
  client.Yield();
  return counts ? AwaitVerdict(client, welcome.agreement, welcome.step) : std::optional<bool>(true);
}

}  // namespace

int Interrupted(bool wait, double timeout_s) {
  std::optional<TaskClient> client = Client();
  if (!client) return kNotInterrupted;
  for (;;) {
    const Clock::time_point until = Until(timeout_s);
    const Result<Welcome> welcome = client->Connect(until);
    if (!welcome.ok()) {
      if (wait && welcome.status().code() != StatusCode::kInvalidArgument) continue;
      return Trouble(welcome.status());
    }
    Status trouble;
    const std::optional<bool> stop = Ask(*client, *welcome, until, &trouble);
    if (stop && (*stop || !wait)) return *stop ? kDone : kNotInterrupted;
    if (!trouble.ok() && !wait) return Trouble(trouble);
    if (welcome->agreement == 0 && !wait) return kNotInterrupted;
    // Waiting: until the agent says something new, or another command of this rank takes the connection over.
    client->Yield();
    if (welcome->agreement == 0 || stop) (void)client->Hear(std::nullopt);
  }
}

int Progress(std::int64_t step, double step_s, double timeout_s) {
  return SayOne({{"type", "progress"}, {"step", step}, {"step_ms", step_s * 1000}}, timeout_s);
}

int Saved(const SavedArguments& saved, double timeout_s) {
  std::error_code error;
  std::string path = std::filesystem::absolute(saved.path, error).string();
  if (!std::filesystem::exists(path, error)) {
    std::fprintf(stderr, "glim-task: --path %s does not exist; what is not there cannot be restored\n", path.c_str());
    return kTrouble;
  }
  std::int64_t bytes = saved.bytes;
  if (bytes == 0 && std::filesystem::is_regular_file(path, error)) {
    bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  }
  return SayOne({{"type", "saved"},
                 {"step", saved.step},
                 {"path", path},
                 {"bytes", bytes},
                 {"shard", saved.shard},
                 {"shards", saved.shards},
                 {"duration_ms", saved.seconds * 1000}},
                timeout_s);
}

int SaveFailed(std::int64_t step, const std::string& error, double timeout_s) {
  return SayOne({{"type", "save_failed"}, {"step", step}, {"error", error.substr(0, kReasonBytesMax)}}, timeout_s);
}

int Restored(std::int64_t step, double seconds, double timeout_s) {
  return SayOne({{"type", "restored"}, {"step", step}, {"duration_ms", seconds * 1000}}, timeout_s);
}

int RestoreFailed(std::int64_t step, std::string path, const std::string& error, double timeout_s) {
  const char* told_path = std::getenv(NameOf(TaskVariable::kResumePath));
  const char* told_step = std::getenv(NameOf(TaskVariable::kResumeStep));
  if (path.empty() && told_path) path = told_path;
  if (step < 0 && told_step) step = std::max<std::int64_t>(-1, std::strtoll(told_step, nullptr, 10));
  const std::string reason = error.substr(0, kReasonBytesMax);
  return SayOne({{"type", "restore_failed"}, {"step", step}, {"path", path}, {"error", reason}}, timeout_s);
}

int Needs(double seconds, double timeout_s) {
  std::optional<TaskClient> client = Client();
  if (!client) return kDone;
  const Clock::time_point until = Until(timeout_s);
  const Result<Welcome> welcome = client->Connect(until);
  if (!welcome.ok()) return Trouble(welcome.status());
  if (welcome->agreement == 0) {
    std::fprintf(stderr, "glim-task: no interrupt is in force, so there is no grace to ask for\n");
    return kDone;
  }
  const Status status =
      client->Say({{"type", "needs"}, {"agreement", welcome->agreement}, {"seconds", seconds}}, until);
  return status.ok() ? kDone : Trouble(status);
}

int Leave(double timeout_s) {
  std::optional<TaskClient> client = Client();
  if (!client) return kDone;
  const Clock::time_point until = Until(timeout_s);
  const Result<Welcome> welcome = client->Connect(until);
  if (!welcome.ok()) return Trouble(welcome.status());
  const Status status = client->Say({{"type", "leaving"}, {"agreement", welcome->agreement}}, until);
  return status.ok() ? kDone : Trouble(status);
}

}  // namespace glim::nodeagent
