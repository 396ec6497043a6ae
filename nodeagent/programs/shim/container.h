// A task's container as the shim sees it: started by runc, its first process (glim-init) a child of the shim, spoken to
// over a socket. Blocking while it starts (some ten milliseconds); the shim's only thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nodeagent/programs/init/rank_process.h"
#include "nodeagent/task/task_files.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

// The shim's own program, started with this word, a bundle and a runtime's command line, becomes that runtime once it
// has made the task's mounts (confinement/task_mounts.h).
inline constexpr const char* kMountsVerb = "mount-and-run";

class Container {
 public:
  struct Exit {
    std::size_t rank = 0;  // its place in the launch
    int wait_status = 0;
  };

  // Starts the container and in it every rank. `ranks` gets them in the launch's order, with this machine's pids. The
  // calling process must be a child subreaper. After a failure nothing of it is left.
  static Result<std::unique_ptr<Container>> Start(const LaunchSpec& spec, std::vector<RankProcess>* ranks);

  int control() const { return control_.get(); }  // readable when TakeExits has something; -1 when nothing more comes
  pid_t init() const { return init_; }
  std::vector<Exit> TakeExits();
  // How often the kernel killed one of its processes for want of memory, and whether it was the container's own limit
  // that was reached; else the whole node's, or that of a group above.
  struct MemoryKills {
    int kills = 0;
    bool own_limit = false;
  };
  MemoryKills CountMemoryKills() const;
  // Removes what runc and the kernel keep of it. Its processes are gone, or are killed.
  void Remove();

 private:
  explicit Container(ContainerLaunch launch) : launch_(std::move(launch)) {}

  // Gives init its order.
  Status SendLaunch(const LaunchSpec& spec);
  Status RunRunc(const LaunchSpec& spec, std::vector<RankProcess>* ranks);
  Status StartRanks(const LaunchSpec& spec, std::vector<RankProcess>* ranks);
  Result<std::string> ReadLine();
  pid_t OutsidePid(pid_t inside) const;
  std::string RuncLog() const { return launch_.bundle + "/runc.log"; }

  const ContainerLaunch launch_;
  UniqueFd control_;
  pid_t init_ = 0;
  std::string memory_folder_;  // of its control group; empty: there is none
  std::string received_;
};

}  // namespace glim::nodeagent
