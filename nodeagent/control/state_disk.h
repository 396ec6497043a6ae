// The disk of the agent's state folder: is there room for what the agent must write down? It keeps a spare for that,
// looks at the room every few seconds, and says when there is none: what fills it, and where.
//
//   fine --a write or a start finds the disk full, or a look does--> full (a fault of the node: nothing is started)
//   full --there is room again, more than a little, the spare is taken, and what was unsaved is written--> fine
//
// How much a file system says is free decides nothing once that is little: ext4 counts blocks that it gives to nobody,
// not even to root. A look then takes the room, and gives it back.
// On the agent's loop; not thread-safe. The walk that finds what fills the disk has a thread of its own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/control/disk_use.h"
#include "sdk/base/status.h"
#include "sdk/io/spare_file.h"
#include "sdk/threads/apart_call.h"

namespace glim::nodeagent {

class StateDisk {
 public:
  struct Hooks {
    std::function<void()> changed;  // Report says something else
    std::function<void()> again;    // what could not be written may be tried again
  };

  StateDisk(boost::asio::io_context& io, std::string state_dir, Hooks hooks);

  void Start();
  void Stop();

  SpareFile& spare() { return spare_; }
  // What became of a write of the agent's own state.
  void Wrote(const Status& status);
  // A task could not be started. True: for want of room here, which is a fault of the node from now on.
  bool Failed(const Status& start);
  // Why nothing can be started here, for people; empty: it can.
  std::string Fault() const;
  void Report(v1::NodeReport* report) const;

 private:
  void Look();
  void LookLater();
  bool HasRoom() const;
  bool CanTake(std::int64_t bytes) const;
  void Settle(const std::string& kind, const std::string& message);

  boost::asio::io_context& io_;
  const std::string state_dir_;
  const Hooks hooks_;
  boost::asio::steady_timer timer_;
  SpareFile spare_;
  Status unwritten_;                                  // the last write of the agent's state
  std::chrono::steady_clock::time_point full_until_;  // whatever a look finds: a start has failed for want of room
  std::string kind_;                                  // of the fault; empty: none
  std::string message_;                               // stays as it is while the fault lasts
  bool named_ = false;                                // `message_` says what fills the disk, and it may be reported
  std::unique_ptr<ApartCall<std::vector<DiskUse>>> walk_;
};

}  // namespace glim::nodeagent
