// The task socket's server: docs/protocols/task-socket.md. One per task, on the agent's loop, not thread-safe.
//
// What a rank said is written to ranks.json before it is acknowledged, so that an agent that dies loses nothing that a
// rank need not say again; a step alone is written at most once a second. Peers other than root and the task's own
// user are turned away, and connections, lines and what waits to be sent are bounded.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nodeagent/core/reconcile.h"
#include "nodeagent/task/rank_state.h"
#include "sdk/base/result.h"
#include "sdk/io/spare_file.h"

namespace glim::nodeagent {

enum class RankNews { kProgress, kChange };

class TaskSocket : public std::enable_shared_from_this<TaskSocket> {
 public:
  struct Options {
    std::string socket_path;
    std::string state_path;            // ranks.json
    std::string task;                  // for the log
    std::vector<std::uint32_t> ranks;  // those of this node, declared at launch
    uid_t peer_uid = 0;                // the ranks' user: only they, root and we may connect
    std::string version;               // of the agent, for ranks that speak another protocol
    std::function<TimePoint()> now;    // the clock of Interrupt::deadline
    std::function<void(RankNews)> on_news;
  };

  TaskSocket(boost::asio::io_context& io, Options options);
  ~TaskSocket();
  TaskSocket(const TaskSocket&) = delete;
  TaskSocket& operator=(const TaskSocket&) = delete;

  // Reads back what an earlier agent wrote, and listens. A socket that is there already is replaced.
  Status Open();
  void Close();

  // Tells every rank, now and at each connect.
  void SetInterrupt(const Interrupt& interrupt);

  const std::vector<RankState>& ranks() const { return ranks_; }
  bool connected(std::uint32_t rank) const { return peers_.contains(rank); }

 private:
  class Peer;

  void Accept();
  void Admit(boost::asio::local::stream_protocol::socket socket);
  bool Greet(const std::shared_ptr<Peer>& peer, const TaskMessage& message);
  void OnLine(const std::shared_ptr<Peer>& peer, std::string_view line);
  void OnClosed(const std::shared_ptr<Peer>& peer);
  void Tell(Peer& peer);
  RankState* Find(std::uint32_t rank);
  bool Persist();
  void PersistLate();
  void PersistSoon();

  boost::asio::io_context& io_;
  const Options options_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  boost::asio::steady_timer persist_timer_;
  bool persist_pending_ = false;
  std::vector<RankState> ranks_;
  SpareFile spare_;  // for state_path, on a full disk
  std::optional<Interrupt> interrupt_;
  std::map<std::uint32_t, std::shared_ptr<Peer>> peers_;  // that have said hello, by rank
  std::set<std::shared_ptr<Peer>> connections_;           // all of them
};

// Whether a socket of this path can be bound: sun_path holds 107 bytes.
Status CheckSocketPath(const std::string& path);

}  // namespace glim::nodeagent
