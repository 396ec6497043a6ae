// Copies the logs of attempts that have ended to the folder that the scheduler names (the policy's `logs_root`), as
// ROOT/JOB-ATTEMPT/rank-R.log and its older files. On the agent's loop; nobody waits for it.
//
// A process of its own copies, one attempt at a time: storage that hangs holds up that process alone. What takes longer
// than the limit is killed, and nothing is copied until it has gone. What failed is tried again. A file beside the logs
// says that they were copied: an agent that starts goes on where the one before it was.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

struct LogExportTimes {
  std::chrono::milliseconds limit{10 * 60'000};  // of one attempt
  std::chrono::milliseconds again{60'000};       // after a failure
};

class LogExport {
 public:
  struct Attempt {
    std::uint64_t job = 0;
    std::uint32_t number = 0;
    friend auto operator<=>(const Attempt&, const Attempt&) = default;
  };

  // `logs`: the agent's folder of all logs. `open`: whether more may come of an attempt.
  LogExport(boost::asio::io_context& io, std::string logs, LogExportTimes times,
            std::function<bool(const Attempt&)> open);

  // Another root: what lies here and was not copied yet is copied there.
  void OnWelcome(const v1::Welcome& welcome);
  void TaskEnded(std::uint64_t job, std::uint32_t attempt);
  // The agent goes.
  void Stop();

 private:
  struct Copy {
    Attempt attempt;
    pid_t pid = 0;
    boost::asio::posix::stream_descriptor process;
    bool late = false;
  };

  void Scan();
  void Next();
  Status Begin(const Attempt& attempt);
  void OnEnd();
  void Failed(const Attempt& attempt, const std::string& why);
  std::string FolderOf(const Attempt& attempt) const;
  std::string OutputFile() const { return logs_ + "/copy-output"; }

  boost::asio::io_context& io_;
  const std::string logs_;
  const LogExportTimes times_;
  const std::function<bool(const Attempt&)> open_;
  std::string root_;  // empty: nothing is copied
  std::set<Attempt> waiting_;
  std::set<Attempt> failed_;  // they come after the others
  std::optional<Copy> copy_;
  boost::asio::steady_timer limit_;
  boost::asio::steady_timer again_;
  bool paused_ = false;
};

}  // namespace glim::nodeagent
