// The real scheduler, as a process of a benchmark, without TLS and tokens: ended with this object, by SIGTERM and, if
// that does not help within ten seconds, SIGKILL. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace glim::bench {

class SchedulerProcess {
 public:
  // `folder` gets its port file, configuration and log; `flags` come behind those that it needs for that.
  SchedulerProcess(const std::string& program, const std::string& store, const std::string& folder,
                   const std::vector<std::string>& flags = {});
  ~SchedulerProcess();
  SchedulerProcess(const SchedulerProcess&) = delete;
  SchedulerProcess& operator=(const SchedulerProcess&) = delete;

  bool IsRunning();
  // The port that it serves; 0 if it ended instead, or took more than two minutes.
  int WaitPort();
  // The agents' port, once WaitPort has returned one.
  int AgentsPort() const;
  int pid() const { return pid_; }
  // Processor time that it has used so far, on all cores; 0 if that cannot be read.
  double CpuSeconds() const;

 private:
  const std::string port_file_;
  const std::string agents_port_file_;
  pid_t pid_ = -1;  // -1: there is none (any more)
};

}  // namespace glim::bench
