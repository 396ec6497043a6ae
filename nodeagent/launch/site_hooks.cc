#include "nodeagent/launch/site_hooks.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <vector>

#include "nodeagent/launch/node_folders.h"
#include "nodeagent/os/processes.h"
#include "nodeagent/os/run_program.h"
#include "sdk/base/printable.h"
#include "sdk/base/system_path.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kOutputMax = 1 << 20;
constexpr std::size_t kLineMax = 400;
constexpr std::size_t kEnvironmentMax = 1 << 16;

// In the task's folder: what its epilog is told. There as long as an epilog is owed.
std::string OwedFile(const std::string& folder) { return folder + "/epilog-owed"; }

// A variable a line. The task's mark is not among them: a census must not take these programs for the task's own.
std::string EnvironmentOf(const TaskKey& key, const v1::TaskLaunch& launch, const std::string& node) {
  std::ostringstream text;
  text << "GLIM_JOB_ID=" << key.job << "\nGLIM_ATTEMPT=" << key.attempt << "\nGLIM_NODE_RANK=" << key.index
       << "\nGLIM_JOB_NAME=" << Printable(launch.job_name()) << "\nGLIM_USER=" << Printable(launch.user())
       << "\nGLIM_NODE=" << node << "\n";
  return text.str();
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string LastLine(const std::string& file) {
  const Result<std::string> text = ReadFile(file, kOutputMax);
  std::string last;
  if (text.ok()) {
    for (const std::string& line : Lines(*text)) {
      if (!line.empty()) last = line;
    }
  }
  return last.empty() ? "it wrote nothing" : EscapedStart(last, kLineMax);
}

// False: it is still there. A program that is already gone may have left others: of these nobody knows.
bool EndProcess(const ProcessIdentity& process, const std::string& boot_id, std::chrono::milliseconds limit) {
  const UniqueFd there = OpenProcess(process, boot_id);
  if (!there) return true;
  ::kill(-process.pid, SIGKILL);
  pollfd ended{there.get(), POLLIN, 0};
  const bool gone = ::poll(&ended, 1, static_cast<int>(limit.count())) > 0;
  ::waitpid(process.pid, nullptr, WNOHANG);  // it is a child of an agent that started itself anew
  return gone;
}

}  // namespace

SiteHooks::SiteHooks(boost::asio::io_context& io, const AgentOptions& options, std::function<void()> changed)
    : io_(io), options_(options), changed_(std::move(changed)) {}

SiteHooks::~SiteHooks() { Stop(); }

std::set<TaskKey> SiteHooks::EndOld(const std::string& boot_id) {
  boot_id_ = boot_id;
  std::set<TaskKey> prologs;
  for (HookNote& note : ReadHookNotes(options_.state_dir)) {
    LogWarning("event=site_hook_cut_off task={} hook={} pid={} note=\"the agent before ended while the program ran\"",
               ToString(note.key), note.prolog ? "prolog" : "epilog", note.process.pid);
    RemoveHookNote(options_.state_dir, note.key, note.prolog);
    const bool gone = EndProcess(note.process, boot_id_, kOldEndLimit);
    if (!gone) (void)FaultOf({note.key, note.prolog}, "began under an earlier agent and does not go after SIGKILL");
    if (note.prolog) {
      prologs.insert(note.key);
    } else if (gone && !options_.epilog.empty()) {
      Note(HookNote{note.key, false, note.environment, {}});  // it is owed again
      cut_off_.push_back(std::move(note));
    }
  }
  return prologs;
}

void SiteHooks::Start() {
  if (cut_off_.empty()) return;
  boost::asio::post(io_, [this] {
    if (stopped_) return;
    for (const HookNote& note : std::exchange(cut_off_, {})) {
      // The agent before may have ended between its note and this.
      std::error_code none;
      std::filesystem::remove(OwedFile(options_.state_dir + "/tasks/" + ToString(note.key)), none);
      StartEpilog(note.key, note.environment);
    }
  });
}

void SiteHooks::Note(const HookNote& note) const {
  const Status status = WriteHookNote(options_.state_dir, note);
  if (status.ok()) return;
  LogError("event=hook_note_not_written task={} error={}", ToString(note.key), Quoted(status.message()));
}

void SiteHooks::RunProlog(const TaskKey& key, const v1::TaskLaunch& launch, const std::string& folder, Done done) {
  const std::string environment = EnvironmentOf(key, launch, options_.node_name);
  const auto begun = [this, folder, environment, done = std::move(done)](const Status& status) {
    if (!status.ok() || options_.epilog.empty()) return done(status);
    done(WriteFileAtomically(OwedFile(folder), environment, Durability::kProcess));
  };
  if (options_.prolog.empty()) return begun(Status::Ok());
  const Id id{key, true};
  if (const Status status = Start(id, options_.prolog, environment, begun); !status.ok()) {
    RemoveHookNote(options_.state_dir, key, true);
    begun(Failed(id, status.message()));
  }
}

bool SiteHooks::InProlog(const TaskKey& key) const {
  const auto run = running_.find({key, true});
  return run != running_.end() && run->second.done;
}

void SiteHooks::RunEpilog(const TaskKey& key, const std::string& folder) {
  if (options_.epilog.empty()) return;
  const Result<std::string> environment = ReadFile(OwedFile(folder), kEnvironmentMax);
  if (!environment.ok() || running_.contains({key, false})) return;
  StartEpilog(key, *environment);
  // From here on its note says that it is owed.
  std::error_code none;
  std::filesystem::remove(OwedFile(folder), none);
}

void SiteHooks::StartEpilog(const TaskKey& key, const std::string& environment) {
  const Id id{key, false};
  const Status status = Start(id, options_.epilog, environment, [](const Status&) {});
  if (status.ok()) return;
  RemoveHookNote(options_.state_dir, key, false);
  (void)Failed(id, status.message());
}

Status SiteHooks::Start(const Id& id, const std::string& program, const std::string& environment, Done done) {
  const std::string folder = LogFolder(options_, id.first.job, id.first.attempt);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string output = folder + (id.second ? "/prolog-" : "/epilog-") + std::to_string(id.first.index) + ".log";
  std::filesystem::remove(output, error);
  std::vector<std::string> variables = Lines(environment);
  variables.emplace_back(kSystemPathVariable);
  HookNote note{id.first, id.second, environment, {}};
  Note(note);  // an agent that ends before the program begins owes it
  // With its pid before it begins: an agent that is killed right then leaves no program that the next does not know of.
  const auto note_process = [&](pid_t started) {
    const auto info = ReadProcess(started);
    note.process = {boot_id_, started, info ? info->start_ticks : 0};
    Note(note);
  };
  const Result<pid_t> pid = StartNotedProgram({program}, variables, output, note_process);
  if (!pid.ok()) return pid.status();
  UniqueFd process(OpenPidfd(*pid));
  if (!process) {
    const int code = errno;
    ::kill(-*pid, SIGKILL);
    ::waitpid(*pid, nullptr, 0);
    return FileError("watch", program, code);
  }
  Run run{*pid,
          program,
          output,
          std::move(done),
          boost::asio::posix::stream_descriptor(io_, process.Release()),
          boost::asio::steady_timer(io_)};
  Run& kept = running_.emplace(id, std::move(run)).first->second;
  kept.process.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [this, id](const boost::system::error_code& failed) {
                            if (!failed) OnEnd(id);
                          });
  kept.limit.expires_after(std::chrono::seconds(options_.hook_seconds));
  kept.limit.async_wait([this, id](const boost::system::error_code& failed) {
    if (!failed) OnLimit(id);
  });
  return Status::Ok();
}

// One that hangs in the kernel is waited for, but no longer by the task.
void SiteHooks::OnLimit(const Id& id) {
  const auto run = running_.find(id);
  if (run == running_.end() || !run->second.done) return;
  ::kill(-run->second.pid, SIGKILL);
  const Done done = std::exchange(run->second.done, nullptr);
  const std::string words = LastLine(run->second.output);
  done(Failed(id, "did not end within " + std::to_string(options_.hook_seconds) + " s: " + words));
}

void SiteHooks::OnEnd(const Id& id) {
  const auto at = running_.find(id);
  if (at == running_.end()) return;
  const Run run = [&] {
    Run taken = std::move(at->second);
    running_.erase(at);
    return taken;
  }();
  int status = 0;
  while (::waitpid(run.pid, &status, 0) < 0 && errno == EINTR) {
  }
  RemoveHookNote(options_.state_dir, id.first, id.second);
  if (!run.done) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return run.done(Status::Ok());
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  run.done(Failed(id, "exited with code " + std::to_string(code) + ": " + LastLine(run.output)));
}

Status SiteHooks::Failed(const Id& id, const std::string& why) {
  Status status = FaultOf(id, why);
  changed_();
  return status;
}

Status SiteHooks::FaultOf(const Id& id, const std::string& why) {
  const std::string& program = id.second ? options_.prolog : options_.epilog;
  fault_ =
      std::string(id.second ? "the prolog " : "the epilog ") + program + " of task " + ToString(id.first) + " " + why;
  LogError("event=site_hook_failed task={} error={}", ToString(id.first), Quoted(fault_));
  return Status(StatusCode::kFailedPrecondition, fault_);
}

void SiteHooks::Stop() {
  stopped_ = true;
  for (auto& [id, run] : running_) {
    ::kill(-run.pid, SIGKILL);
    ::waitpid(run.pid, nullptr, WNOHANG);  // one that hangs in the kernel is left to the next parent
  }
  running_.clear();
}

}  // namespace glim::nodeagent
