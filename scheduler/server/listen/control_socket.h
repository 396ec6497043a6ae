// ControlSocket: how a command on the scheduler's own host reaches the scheduler that runs: a Unix socket in its state
// folder. For break-glass alone, when no token is left that could ask by the port.
//
// Who connects must be the scheduler's own user or root (SO_PEERCRED), and show that it has the key file: it sends one
// line, "SEALED USER", where SEALED is what Seal made of the time, and USER may be missing. The answer is one line,
// "token glim_..." or "error REASON MESSAGE".
//
// Has one thread, which serves one after the other, each for 5 s at most. Stop joins it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "scheduler/identity/key_file.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/io/unique_fd.h"

namespace glim::server {

class ControlSocket {
 public:
  // Makes the token; on the socket's thread, may wait. `user` may be empty.
  using Make = std::function<Result<std::string>(const std::string& user, const std::string& peer)>;

  // Listens when this returns Ok, in place of a socket that a killed scheduler left. Errors of the socket.
  static Result<std::unique_ptr<ControlSocket>> Open(const std::string& state_dir, identity::ClusterKey key,
                                                     std::function<TimePoint()> wall, Make make);
  ~ControlSocket() { Stop(); }
  void Stop();

 private:
  ControlSocket(std::string path, identity::ClusterKey key, std::function<TimePoint()> wall, Make make);
  void Serve();
  std::string Answer(int connection) const;

  const std::string path_;
  const identity::ClusterKey key_;
  const std::function<TimePoint()> wall_;
  const Make make_;
  UniqueFd listening_;
  UniqueFd stop_;  // an eventfd
  std::thread thread_;
};

// The other side. Blocks, 15 s at most. NOT_FOUND: no scheduler listens there.
Result<std::string> AskControl(const std::string& state_dir, const identity::ClusterKey& key, const std::string& user,
                               TimePoint wall);

}  // namespace glim::server
