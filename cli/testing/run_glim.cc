#include "cli/testing/run_glim.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "sdk/base/check.h"
#include "sdk/base/testing/folders.h"
#include "sdk/base/testing/waits.h"

namespace glim::cli {
namespace {

struct Pipe {
  Pipe() { GLIM_CHECK(pipe2(ends, O_CLOEXEC) == 0, "no pipe"); }
  int ends[2];
};

// What a program writes as to a terminal comes out as it was written; its end is an error of read(). `keyboard`: it is
// for what is typed, with the signs that signal and end.
Pipe Terminal(bool keyboard) {
  Pipe pair;
  close(pair.ends[0]);
  close(pair.ends[1]);
  pair.ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  GLIM_CHECK(pair.ends[0] >= 0 && grantpt(pair.ends[0]) == 0 && unlockpt(pair.ends[0]) == 0, "no terminal");
  pair.ends[1] = open(ptsname(pair.ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
  termios settings{};
  GLIM_CHECK(tcgetattr(pair.ends[1], &settings) == 0, "no terminal");
  if (!keyboard) cfmakeraw(&settings);
  GLIM_CHECK(tcsetattr(pair.ends[1], TCSANOW, &settings) == 0, "no terminal");
  return pair;
}

std::vector<char*> Pointers(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// True while there may be more.
bool Drain(int fd, std::string* text) {
  char buffer[4096];
  const ssize_t count = read(fd, buffer, sizeof(buffer));
  if (count > 0) text->append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

}  // namespace

GlimProcess::GlimProcess(const std::vector<std::string>& arguments, const GlimOptions& options)
    : begin_(std::chrono::steady_clock::now()) {
  const std::string home = options.folder.empty() ? "/nonexistent" : options.folder;
  std::vector<std::string> words = {BuiltFile("bin/glim")};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = {"HOME=" + home, "XDG_CONFIG_HOME=" + home + "/xdg", "PATH=/usr/bin:/bin"};
  for (const auto& [name, value] : options.env) environment.push_back(name + "=" + value);
  const std::vector<char*> argv = Pointers(&words);
  const std::vector<char*> envp = Pointers(&environment);
  Pipe in = options.keyboard ? Terminal(true) : Pipe();
  if (options.keyboard) std::swap(in.ends[0], in.ends[1]);
  const Pipe out = options.terminal ? Terminal(false) : Pipe();
  const Pipe err;
  // Before there is a reader who may end without it: that is SIGPIPE for who writes later.
  GLIM_CHECK(
      write(in.ends[1], options.input.data(), options.input.size()) == static_cast<ssize_t>(options.input.size()),
      "the input of a test fits a pipe");
  pid_ = fork();
  GLIM_CHECK(pid_ >= 0, "no process");
  if (pid_ == 0) {
    dup2(in.ends[0], STDIN_FILENO);
    if (options.keyboard && (setsid() < 0 || ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0)) _exit(125);
    dup2(out.ends[1], STDOUT_FILENO);
    dup2(err.ends[1], STDERR_FILENO);
    if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(126);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(in.ends[0]);
  close(out.ends[1]);
  close(err.ends[1]);
  out_fd_ = out.ends[0];
  err_fd_ = err.ends[0];
  if (options.keyboard) {
    keyboard_fd_ = in.ends[1];
  } else {
    close(in.ends[1]);
  }
}

GlimProcess::~GlimProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(out_fd_);
  close(err_fd_);
  HangUp();
}

void GlimProcess::Type(const std::string& text) {
  GLIM_CHECK(write(keyboard_fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "it fits");
}

void GlimProcess::HangUp() {
  if (keyboard_fd_ >= 0) close(keyboard_fd_);
  keyboard_fd_ = -1;
}

void GlimProcess::Signal(int number) { kill(pid_, number); }

bool GlimProcess::Await(int fd, std::string* read, const std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + LongWait();
  while (read->find(text) == std::string::npos) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    pollfd ready = {fd, POLLIN, 0};
    if (poll(&ready, 1, 100) > 0 && !Drain(fd, read)) return false;
  }
  return true;
}

GlimResult GlimProcess::Finish() {
  GlimResult result;
  result.out = out_;
  result.err = err_;
  bool out_open = true;
  bool err_open = true;
  const auto deadline = std::chrono::steady_clock::now() + LongWait();
  while ((out_open || err_open) && std::chrono::steady_clock::now() < deadline) {
    pollfd fds[] = {{out_open ? out_fd_ : -1, POLLIN, 0}, {err_open ? err_fd_ : -1, POLLIN, 0}};
    if (poll(fds, 2, 100) <= 0) continue;
    if (fds[0].revents != 0) out_open = Drain(out_fd_, &result.out);
    if (fds[1].revents != 0) err_open = Drain(err_fd_, &result.err);
  }
  const bool late = out_open || err_open;
  if (late) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin_);
  if (late) return result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace glim::cli
