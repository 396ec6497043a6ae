// Runs the real `glim` as a process of its own, for tests: what it wrote where, and how it ended.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace glim::cli {

struct GlimResult {
  int exit_code = -1;  // 128 + n after signal n; -1: it did not end, and had to be killed
  std::string out;
  std::string err;
  std::chrono::milliseconds took{0};
};

struct GlimOptions {
  std::map<std::string, std::string> env;  // beside a bare HOME, XDG_CONFIG_HOME and PATH
  std::string folder;                      // to run in
  std::string input;                       // on stdin
  bool terminal = false;                   // stdout is one, which changes nothing of what is written
  bool keyboard = false;                   // stdin is one, the process's own: Type() types there, "\x03" is Ctrl-C
};

// A process that runs; the destructor ends it if it still does.
class GlimProcess {
 public:
  GlimProcess(const std::vector<std::string>& arguments, const GlimOptions& options);
  ~GlimProcess();
  GlimProcess(const GlimProcess&) = delete;
  GlimProcess& operator=(const GlimProcess&) = delete;

  void Signal(int number);
  // True once stdout holds `text`; false if that took too long or stdout ended without it.
  bool AwaitOutput(const std::string& text) { return Await(out_fd_, &out_, text); }
  bool AwaitError(const std::string& text) { return Await(err_fd_, &err_, text); }
  void Type(const std::string& text);
  void HangUp();  // the keyboard's terminal is gone
  GlimResult Finish();

 private:
  bool Await(int fd, std::string* read, const std::string& text);

  pid_t pid_ = -1;
  int keyboard_fd_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  std::string out_;  // read so far
  std::string err_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace glim::cli
