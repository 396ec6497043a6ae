// The child that asks the driver who is on the GPUs (glim-inventory --watch), as long as the agent lives: a line with a
// number is a question, a line of gpu_use.h its answer. One question at a time. A child that does not answer in time is
// killed and another one asked; while the killed one still hangs in the kernel, nobody is.
//
// On the agent's loop; not thread-safe.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nodeagent/hardware/gpu_use.h"

namespace glim::nodeagent {

class GpuWatch {
 public:
  struct Hooks {
    std::function<void(const UseAnswer&)> answered;
    std::function<void()> changed;  // whether it hangs
  };

  // `hangs`: another child has just not had an answer.
  GpuWatch(boost::asio::io_context& io, std::vector<std::string> command, std::chrono::milliseconds limit, bool hangs,
           Hooks hooks);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // Returns the question's number. It is answered by what is so from now on: one that is already with the driver is not
  // this one.
  std::uint64_t Ask();
  // Why there is no answer, in words; empty: there is, or may be soon.
  const std::string& trouble() const { return trouble_; }
  void Stop();

 private:
  struct Child;

  void Pump();
  bool StartChild();
  void Read(const std::shared_ptr<Child>& child);
  void WaitForEnd(const std::shared_ptr<Child>& child);
  void OnLine(const std::string& line);
  void OnLate();
  void OnGone(const std::string& why);
  void GiveUp();
  void SetTrouble(const std::string& words);
  void TryLater();

  boost::asio::io_context& io_;
  const std::vector<std::string> command_;
  const std::chrono::milliseconds limit_;
  const Hooks hooks_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer retry_;
  std::shared_ptr<Child> child_;  // null: none is asked
  std::shared_ptr<Child> dying_;  // killed, and not over yet
  std::chrono::milliseconds pause_;
  std::uint64_t wanted_ = 0;    // the newest question
  std::uint64_t asked_ = 0;     // what the child was asked; 0: nothing that is open
  std::uint64_t answered_ = 0;  // the newest that was answered
  bool waits_ = false;          // for the time to try again
  bool stopped_ = false;
  std::string trouble_;
};

}  // namespace glim::nodeagent
