// The node's hardware, as the agent tells the scheduler of it: runs glim-health (programs/health), which looks, and
// keeps what it says. On the agent's loop, which nothing that hangs in a driver or on a disk holds up.
//
//   off                       (--health no)
//   waiting --timer--> running --its end, or no word for too long--> waiting
//
// glim-health numbers events and remembers them; one that is started anew says its newest events once more, with the
// numbers that they had. Conditions stay until it says that they are over, or, after a new start, until it has looked
// at everything and does not say them.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/health/finding.h"
#include "nodeagent/health/wire/health_line.h"
#include "sdk/base/time.h"

namespace glim::nodeagent {

struct HealthTimes {
  std::chrono::milliseconds silence{30'000};     // without a word it is killed, and the node is health_blind
  std::chrono::milliseconds first_pause{1'000};  // before it is started again; doubled up to the longest
  std::chrono::milliseconds longest_pause{60'000};
  std::chrono::milliseconds gpus_silence{60'000};     // without a look at the GPUs nobody watches them
  std::chrono::milliseconds gpus_busy_every{60'000};  // of GPUs that are busy it is told anew so often
};

class HealthWatch {
 public:
  // `command`: glim-health with its arguments; empty: nobody looks. `changed`: there is an event, or other conditions;
  // never from within a call.
  HealthWatch(boost::asio::io_context& io, std::vector<std::string> command, HealthTimes times,
              std::function<void()> changed);
  ~HealthWatch();

  void Start();
  void Stop();
  void Report(v1::NodeReport* report) const;
  // When one of the node's GPUs was seen to compute, by this machine's clock; 0: none was, since the agent began.
  // Nothing: nobody watches them.
  std::optional<TimePoint> GpusBusyAt() const;

 private:
  using Key = std::pair<std::string, std::string>;  // a condition's check and device
  struct Child;

  void Launch();
  void LaunchLater();
  void Read();
  void OnBytes(std::size_t size);
  void OnLine(const std::string& text);
  void OnEvent(health::HealthLine line);
  void OnGpus(const std::vector<health::GpuUse>& gpus);
  void OnAlive(bool complete);
  void WatchForSilence();
  void OnSilence();
  void OnEnd();
  void End(int signal);
  void Reap();

  boost::asio::io_context& io_;
  const std::vector<std::string> command_;
  const HealthTimes times_;
  const std::function<void()> changed_;
  boost::asio::steady_timer launch_timer_;
  boost::asio::steady_timer silence_timer_;
  std::chrono::milliseconds pause_;
  std::unique_ptr<Child> child_;  // null: none runs
  std::uint64_t number_ = 0;      // of the child: an answer of an earlier one counts no more
  std::vector<pid_t> ended_;      // not reaped yet: one that hangs in the kernel takes its time
  std::string boot_;
  std::map<std::uint64_t, health::Finding> events_;  // by number; the newest
  std::map<Key, health::Finding> conditions_;
  std::set<Key> told_;                                              // by this child
  std::optional<std::chrono::steady_clock::time_point> gpus_seen_;  // none: nobody looked yet
  TimePoint gpus_busy_at_;                                          // as it is told
  bool blind_ = false;
  bool complained_ = false;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
