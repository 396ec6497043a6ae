#include "nodeagent/hardware/gpu_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <utility>

#include "nodeagent/os/processes.h"
#include "nodeagent/os/run_program.h"
#include "sdk/io/unique_fd.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

namespace asio = boost::asio;

constexpr int kQuestions = 3;
constexpr int kAnswers = 4;
constexpr std::size_t kLineBytesMax = 1 << 20;
constexpr std::chrono::milliseconds kPauseFirst{100};
constexpr std::chrono::milliseconds kPauseMost{10'000};

}  // namespace

struct GpuWatch::Child {
  explicit Child(asio::io_context& io) : process(io), answers(io) {}

  pid_t pid = 0;
  asio::posix::stream_descriptor process;  // pidfd
  asio::posix::stream_descriptor answers;
  UniqueFd questions;
  std::array<char, 4096> buffer{};
  std::string text;  // of a line that is not whole yet
};

GpuWatch::GpuWatch(asio::io_context& io, std::vector<std::string> command, std::chrono::milliseconds limit, bool hangs,
                   Hooks hooks)
    : io_(io),
      command_(std::move(command)),
      limit_(limit),
      hooks_(std::move(hooks)),
      deadline_(io),
      retry_(io),
      pause_(kPauseFirst) {
  if (hangs) trouble_ = "NVIDIA's driver has not answered for " + std::to_string(limit_.count()) + " ms";
}

GpuWatch::~GpuWatch() { Stop(); }

std::uint64_t GpuWatch::Ask() {
  if (wanted_ == asked_ || wanted_ == answered_) ++wanted_;  // else the newest has not been put yet
  Pump();
  return wanted_;
}

void GpuWatch::Pump() {
  if (stopped_ || asked_ != 0 || waits_ || wanted_ == answered_) return;
  if (!child_ && !StartChild()) return TryLater();
  const std::string line = std::to_string(wanted_) + "\n";
  if (::write(child_->questions.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return OnGone("the program that asks the driver takes no question");
  }
  asked_ = wanted_;
  deadline_.expires_after(limit_);
  deadline_.async_wait([this, asked = asked_](boost::system::error_code error) {
    if (!error && asked_ == asked) OnLate();
  });
}

bool GpuWatch::StartChild() {
  if (dying_) return false;
  int questions[2], answers[2];
  if (::pipe2(questions, O_CLOEXEC) != 0) return false;
  UniqueFd ask(questions[1]), hear_questions(questions[0]);
  if (::pipe2(answers, O_CLOEXEC) != 0) return false;
  UniqueFd hear(answers[0]), tell(answers[1]);
  const Result<pid_t> pid =
      StartProgram(command_, {}, "/dev/null", {{hear_questions.get(), kQuestions}, {tell.get(), kAnswers}});
  if (!pid.ok()) {
    SetTrouble(pid.status().message());
    return false;
  }
  UniqueFd process(OpenPidfd(*pid));
  if (!process) {
    ::kill(*pid, SIGKILL);
    ::waitpid(*pid, nullptr, WNOHANG);
    return false;
  }
  ::fcntl(ask.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(hear.get(), F_SETFL, O_NONBLOCK);
  child_ = std::make_shared<Child>(io_);
  child_->pid = *pid;
  child_->process.assign(process.Release());
  child_->answers.assign(hear.Release());
  child_->questions = std::move(ask);
  Read(child_);
  WaitForEnd(child_);
  return true;
}

void GpuWatch::Read(const std::shared_ptr<Child>& child) {
  child->answers.async_read_some(asio::buffer(child->buffer),
                                 [this, child](boost::system::error_code error, std::size_t size) {
                                   if (stopped_ || child != child_) return;
                                   if (error || child->text.size() > kLineBytesMax)
                                     return OnGone("the program that asks the driver has ended");
                                   child->text.append(child->buffer.data(), size);
                                   for (std::size_t end; (end = child->text.find('\n')) != std::string::npos;) {
                                     const std::string line = child->text.substr(0, end);
                                     child->text.erase(0, end + 1);
                                     OnLine(line);
                                     if (stopped_ || child != child_) return;
                                   }
                                   Read(child);
                                 });
}

// Only its end is waited for here; that it answers no more is seen by its pipe.
void GpuWatch::WaitForEnd(const std::shared_ptr<Child>& child) {
  child->process.async_wait(asio::posix::stream_descriptor::wait_read, [this, child](boost::system::error_code error) {
    if (error || stopped_) return;
    if (!IsOver(child->process.native_handle())) return WaitForEnd(child);
    ::waitpid(child->pid, nullptr, WNOHANG);
    if (dying_ == child) dying_.reset();
    child->pid = 0;
  });
}

void GpuWatch::OnLine(const std::string& line) {
  const Result<UseAnswer> answer = ParseUse(line);
  if (!answer.ok()) return OnGone(answer.status().message());
  if (answer->number != asked_) return;
  deadline_.cancel();
  answered_ = std::exchange(asked_, 0);
  pause_ = kPauseFirst;
  SetTrouble("");
  hooks_.answered(*answer);
  Pump();
}

void GpuWatch::OnLate() {
  SetTrouble("NVIDIA's driver has not answered for " + std::to_string(limit_.count()) + " ms");
  GiveUp();
  TryLater();
}

void GpuWatch::OnGone(const std::string& why) {
  SetTrouble(why);
  GiveUp();
  TryLater();
}

// The question stays open: the next child gets it.
void GpuWatch::GiveUp() {
  deadline_.cancel();
  asked_ = 0;
  if (!child_) return;
  const std::shared_ptr<Child> child = std::move(child_);
  child_.reset();
  boost::system::error_code ignored;
  child->answers.close(ignored);
  child->questions.Reset();
  if (child->pid == 0) return;
  ::kill(child->pid, SIGKILL);
  dying_ = child;
}

void GpuWatch::SetTrouble(const std::string& words) {
  if (trouble_ == words) return;
  trouble_ = words;
  if (words.empty()) {
    LogInfo("event=gpus_answer_again");
  } else {
    LogError("event=gpus_hang reason={}", Quoted(words));
  }
  hooks_.changed();
}

void GpuWatch::TryLater() {
  waits_ = true;
  retry_.expires_after(pause_);
  pause_ = std::min(pause_ * 2, kPauseMost);
  retry_.async_wait([this](boost::system::error_code error) {
    if (error || stopped_) return;
    waits_ = false;
    Pump();
  });
}

void GpuWatch::Stop() {
  if (std::exchange(stopped_, true)) return;
  boost::system::error_code ignored;
  deadline_.cancel();
  retry_.cancel();
  for (const std::shared_ptr<Child>& child : {child_, dying_}) {
    if (!child) continue;
    if (child->pid != 0) {
      ::kill(child->pid, SIGKILL);
      ::waitpid(child->pid, nullptr, WNOHANG);  // one that hangs in the kernel is left to the next parent
    }
    child->answers.close(ignored);
    child->process.close(ignored);
  }
  child_.reset();
  dying_.reset();
}

}  // namespace glim::nodeagent
