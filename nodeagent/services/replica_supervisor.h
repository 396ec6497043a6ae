// Keeps the node's glim-replica running: a process that outlives the agent, and with it the copies of other nodes'
// shards in its memory (docs/protocols/replica.md). It is known again by what lies in the state folder:
//
//   STATE_DIR/replica/     private (0700)
//     process.json   which process it is; the agent, as soon as it runs
//     options        what it was started with: another text asks for another process. Holds no secret
//     address        host:port; glim-replica, when it listens
//     log, log.old   its own words, and the end of those before
//
//   ending --gone--> starting --address--> serving --gone--> pausing --timer--> starting
//
// Owned by the agent and called on its loop; nothing here waits. A service that dies is started anew after a pause, at
// the same address; what it held is lost.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nodeagent/os/processes.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

struct ReplicaOptions {
  std::string program;             // glim-replica
  std::string folder;              // STATE_DIR/replica
  std::uint64_t memory_bytes = 0;  // 0: none is wanted, and one that is still there is ended
  std::string listen;              // host:port; port 0: a free one
  std::string secret_file;
  std::string secret;      // what is in it
  std::string tls;         // UCX's transports; empty: the service's own default
  std::string device;      // UCX's devices, likewise
  int service_level = -1;  // InfiniBand's; -1: the device's
};

class ReplicaSupervisor {
 public:
  // `on_news`: address() has changed; and once if there is none to wait for, because none is wanted or because it did
  // not come within ten seconds. Never from within a call.
  ReplicaSupervisor(boost::asio::io_context& io, ReplicaOptions options, std::string boot_id,
                    std::function<void()> on_news);

  // Takes over the one that is there if it was started with the same options. Fails only for the folder's sake.
  Status Start();
  // The agent goes, the service stays.
  void Stop();
  // Empty: none. Stays while a service that died is being started anew.
  const std::string& address() const { return address_; }

 private:
  enum class State { kNone, kEnding, kStarting, kServing, kPausing };

  bool wanted() const { return options_.memory_bytes > 0; }
  std::string Path(const char* name) const { return options_.folder + "/" + name; }
  std::vector<std::string> Command(const std::string& listen) const;
  std::vector<std::string> Environment() const;
  std::string Describe() const;
  std::string ReadAddress() const;
  void KillStrays(pid_t keep) const;

  void Watch(UniqueFd process, pid_t pid);
  void Adopt();
  void End();
  void Spawn();
  Status StartService();
  void AwaitAddress();
  void Serve(const std::string& address);
  void OnExit();
  void Pause();
  void BoundLog() const;
  void BoundLogLater();
  // Runs `step` after `pause` if the state is still this one then.
  void Later(std::chrono::milliseconds pause, void (ReplicaSupervisor::*step)());

  const ReplicaOptions options_;
  const std::string boot_id_;
  const std::function<void()> on_news_;
  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor process_;  // pidfd; open while it is there
  boost::asio::steady_timer timer_;                // the state's own
  boost::asio::steady_timer patience_;             // of who waits for the first address
  State state_ = State::kNone;
  pid_t pid_ = 0;
  std::string address_;
  std::string listen_again_;                     // where it listened last, for the next one
  std::chrono::steady_clock::time_point since_;  // of the process at hand, as far as this agent knows
  std::chrono::milliseconds look_{};
  std::chrono::milliseconds pause_{};
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
