#include "cli/snapshot/git.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/snapshot/workdir_files.h"
#include "sdk/io/unique_fd.h"

extern char** environ;

namespace glim::cli {
namespace {

constexpr std::size_t kOutputBytesMax = 256 << 20;  // of a list of all that is tracked

// What `git -C FOLDER ARGUMENTS` prints; none: there is no git, or it refuses.
std::optional<std::string> Git(const std::string& folder, const std::vector<std::string>& arguments) {
  // A folder's configuration must not run programs, and looking must not wait for whoever changes the index.
  std::vector<std::string> words = {"git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", folder};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, input.get(), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, "git", &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  input.Reset();
  if (error != 0) return std::nullopt;
  std::string text;
  char buffer[64 * 1024];
  for (ssize_t n = 0; text.size() <= kOutputBytesMax && (n = ::read(output.get(), buffer, sizeof buffer)) != 0;) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
  output.Reset();  // so that a git that still writes ends
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || text.size() > kOutputBytesMax) return std::nullopt;
  return text;
}

std::set<std::string> SplitAtZero(std::string_view text) {
  std::set<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    parts.emplace(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

}  // namespace

GitState ReadGit(const std::string& folder) {
  GitState state;
  if (WorkTreeOf(folder).empty()) return state;
  if (const auto tracked = Git(folder, {"ls-files", "-z", "--cached", "--recurse-submodules"})) {
    state.tracked = SplitAtZero(*tracked);
  }
  const auto head = Git(folder, {"rev-parse", "--verify", "--quiet", "HEAD"});
  if (!head) return state;
  state.revision = head->substr(0, head->find('\n'));
  const auto changes = Git(folder, {"status", "--porcelain", "-z", "--untracked-files=no", "--", "."});
  if (changes && !changes->empty()) state.revision += "-dirty";
  return state;
}

}  // namespace glim::cli
