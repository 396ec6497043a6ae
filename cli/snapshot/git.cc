#include "cli/snapshot/git.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/snapshot/workdir_files.h"
#include "sdk/io/unique_fd.h"

extern char** environ;

namespace glim::cli {
namespace {

constexpr std::size_t kOutputBytesMax = 256 << 20;  // of a list of all that is tracked

using Variables = std::map<std::string, std::string>;

// This process's, with these in it.
std::vector<std::string> EnvironmentWith(const Variables& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (variables.count(text.substr(0, text.find('='))) == 0) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(std::string(name).append("=").append(value));
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What `git -C FOLDER ARGUMENTS` prints; none: there is no git, or it refuses. Nothing is fetched: that would run what
// the folder's configuration says.
std::optional<std::string> Git(const std::string& folder, const std::vector<std::string>& arguments,
                               Variables variables = {}) {
  variables.insert({{"GIT_ALLOW_PROTOCOL", "none"}, {"GIT_NO_LAZY_FETCH", "1"}});
  std::vector<std::string> environment = EnvironmentWith(variables);
  // A folder's configuration must not run programs, and looking must not wait for whoever changes the index.
  std::vector<std::string> words = {"git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", folder};
  words.insert(words.end(), arguments.begin(), arguments.end());
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
  const int error =
      ::posix_spawnp(&pid, "git", &actions, nullptr, Pointers(words).data(), Pointers(environment).data());
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

// A folder of git's own that has nothing of whoever made the work tree: no configuration, so no filters, no hooks.
class OwnGitFolder {
 public:
  explicit OwnGitFolder(const std::string& revision) {
    std::error_code error;
    std::string name = std::filesystem::temp_directory_path(error).string() + "/glim-git-XXXXXX";
    if (error || ::mkdtemp(name.data()) == nullptr) return;
    path_ = name;
    const std::string format = revision.size() == 64 ? "1\n[extensions]\n\tobjectFormat = sha256\n" : "0\n";
    std::filesystem::create_directory(path_ + "/refs", error);
    std::ofstream(path_ + "/HEAD") << revision << "\n";
    std::ofstream(path_ + "/config") << "[core]\n\trepositoryformatversion = " << format;
  }
  ~OwnGitFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  OwnGitFolder(const OwnGitFolder&) = delete;
  OwnGitFolder& operator=(const OwnGitFolder&) = delete;

  const std::string& path() const { return path_; }  // empty: it could not be made

 private:
  std::string path_;
};

// Whether tracked files of the folder differ from the revision, or nobody can tell. To compare them git runs the
// filters that its configuration names (filter.X.clean), so it is shown the work tree, the index and the objects, and
// another configuration: the user's own alone.
bool IsDirty(const std::string& folder, const std::string& revision) {
  const auto places = Git(folder, {"rev-parse", "--path-format=absolute", "--show-toplevel", "--git-path", "index",
                                   "--git-path", "objects"});
  if (!places) return true;
  std::istringstream lines(*places);
  std::string top, index, objects, more;
  std::getline(lines, top);
  std::getline(lines, index);
  std::getline(lines, objects);
  const OwnGitFolder own(revision);
  if (objects.empty() || std::getline(lines, more) || own.path().empty()) return true;
  const auto changes = Git(
      folder, {"status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--", "."},
      {{"GIT_DIR", own.path()}, {"GIT_WORK_TREE", top}, {"GIT_INDEX_FILE", index}, {"GIT_OBJECT_DIRECTORY", objects}});
  return !changes || !changes->empty();
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
  if (IsDirty(folder, state.revision)) state.revision += "-dirty";
  return state;
}

}  // namespace glim::cli
