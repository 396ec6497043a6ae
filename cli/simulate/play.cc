#include "cli/simulate/play.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

extern char** environ;

namespace glim::cli {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{256} << 20;
constexpr Duration kLook = Milliseconds(20);

// Removed with all that is in it.
class PrivateFolder {
 public:
  Status Make() {
    const char* const base = std::getenv("TMPDIR");
    std::string path = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/glim-simulate-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return FileError("make", path, errno);
    path_ = path;
    return Status::Ok();
  }
  ~PrivateFolder() {
    if (!path_.empty()) (void)RemoveFolder(path_);
  }
  std::string At(const std::string& name) const { return path_ + "/" + name; }
  Status Write(const std::string& name, const std::string& text) const {
    return WriteFileAtomically(At(name), text, Durability::kProcess);
  }

 private:
  std::string path_;
};

// Ended and waited for when it goes.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  Status Start(const std::vector<std::string>& words, const std::string& out, const std::string& err) {
    std::vector<char*> pointers;
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    // Ctrl-C is blocked in this program's threads: not in what it starts.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int error = ::posix_spawn(&pid_, words[0].c_str(), &actions, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error == 0) return Status::Ok();
    pid_ = -1;
    return FileError("start", words[0], error);
  }

  // True when it has ended; its code then.
  bool Ended(int* code) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
    pid_ = -1;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
  }

 private:
  pid_t pid_ = -1;
};

Status Failed(const PrivateFolder& folder, const std::string& err, int code) {
  const auto text = ReadFile(folder.At(err), std::size_t{64} << 10);
  std::string said = text.ok() ? *text : "";
  said = said.substr(0, said.find('\n'));
  return Status(StatusCode::kInternal,
                "glim-sim ended with exit code " + std::to_string(code) + (said.empty() ? "" : ": " + said))
      .WithReason("SIMULATION_FAILED")
      .WithFix(code == 1 ? "the policy lets a job of this history never end, or it is a fault of Glim: report it"
                         : "use the glim-sim of the same release as glim");
}

Result<Json> ReadAnswer(const PrivateFolder& folder, const std::string& out) {
  const auto text = ReadFile(folder.At(out), kAnswerBytesMax);
  if (!text.ok()) return text.status();
  Json document = Json::parse(*text, nullptr, false);
  if (!document.is_discarded()) return document;
  return Status(StatusCode::kInternal, "glim-sim did not answer in JSON")
      .WithReason("BAD_SIMULATOR")
      .WithFix("use the glim-sim of the same release as glim");
}

std::vector<std::string> WordsFor(const PrivateFolder& folder, const Past& past, std::size_t which,
                                  const Contender& contender, std::uint32_t resamples, std::uint64_t seed) {
  std::vector<std::string> words = {SimulatorPath(),
                                    "--trace",
                                    folder.At("jobs.csv"),
                                    "--cluster",
                                    folder.At("nodes.csv"),
                                    "--policy",
                                    folder.At("policy-" + std::to_string(which) + ".yaml"),
                                    "--checkpoint-cost",
                                    past.restore,
                                    "--days",
                                    std::to_string(past.days),
                                    "--resamples",
                                    std::to_string(resamples),
                                    "--seed",
                                    std::to_string(seed),
                                    "--json",
                                    "--no-wall"};
  if (!contender.own_quotas) words.insert(words.end(), {"--quotas", folder.At("quotas.csv")});
  return words;
}

}  // namespace

std::string SimulatorPath() {
  std::string own(4096, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", own.data(), own.size());
  own.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return own.substr(0, own.rfind('/') + 1) + "glim-sim";
}

Result<std::array<Json, 2>> PlayBoth(const Past& past, const std::array<Contender, 2>& contenders,
                                     std::uint32_t resamples, std::uint64_t seed,
                                     const std::function<bool(Duration)>& wait) {
  if (::access(SimulatorPath().c_str(), X_OK) != 0) {
    return Status(StatusCode::kNotFound, "there is no program " + SimulatorPath())
        .WithReason("NO_SIMULATOR")
        .WithFix("install glim-sim of the same release beside glim");
  }
  PrivateFolder folder;
  if (Status s = folder.Make(); !s.ok()) return s;
  for (const auto& [name, text] :
       {std::pair("jobs.csv", &past.jobs_csv), std::pair("nodes.csv", &past.nodes_csv),
        std::pair("quotas.csv", &past.quotas_csv), std::pair("policy-0.yaml", &contenders[0].policy_yaml),
        std::pair("policy-1.yaml", &contenders[1].policy_yaml)}) {
    if (Status s = folder.Write(name, *text); !s.ok()) return s;
  }
  std::array<Process, 2> runs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string at = std::to_string(i);
    const auto words = WordsFor(folder, past, i, contenders[i], resamples, seed);
    if (Status s = runs[i].Start(words, folder.At("out-" + at), folder.At("err-" + at)); !s.ok()) return s;
  }
  std::array<Json, 2> answers;
  std::array<bool, 2> ended{};
  while (!ended[0] || !ended[1]) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      int code = 0;
      if (ended[i] || !runs[i].Ended(&code)) continue;
      ended[i] = true;
      if (code != 0) return Failed(folder, "err-" + std::to_string(i), code);
      auto answer = ReadAnswer(folder, "out-" + std::to_string(i));
      if (!answer.ok()) return answer.status();
      answers[i] = std::move(answer).value();
    }
    if ((!ended[0] || !ended[1]) && wait(kLook)) {
      return Status(StatusCode::kCancelled, "interrupted").WithReason("INTERRUPTED");
    }
  }
  return answers;
}

}  // namespace glim::cli
