#include "nodeagent/os/oom_score.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kScoreBytesMax = 64;

int ScoreIn(const std::string& file) {
  const Result<std::string> score = ReadFile(file, kScoreBytesMax);
  return score.ok() ? static_cast<int>(std::strtol(score->c_str(), nullptr, 10)) : 0;
}

}  // namespace

int OwnOomScore() { return ScoreIn("/proc/self/oom_score_adj"); }

void RaiseOomScore(pid_t pid, int score) {
  const std::string file = "/proc/" + std::to_string(pid) + "/oom_score_adj";
  if (ScoreIn(file) >= score) return;
  const std::string text = std::to_string(score);
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd) (void)!::write(fd.get(), text.data(), text.size());
}

Status GiveUpOomProtection(const std::string& file) {
  const Result<std::string> score = ReadFile(file, kScoreBytesMax);
  if (!score.ok()) return score.status();
  if (std::strtol(score->c_str(), nullptr, 10) >= 0) return Status::Ok();
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd || ::write(fd.get(), "0", 1) != 1) return FileError("write", file, errno);
  return Status::Ok();
}

}  // namespace glim::nodeagent
