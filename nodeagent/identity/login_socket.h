// LoginSocket: where users of a login host get their tokens. Who connects says nothing; the kernel says whose process
// it is (SO_PEERCRED), the scheduler whose uid that is. The answer is one line of JSON (docs/protocols/identity.md).
//
// Open to everybody (0666), in a folder that nobody but its owner writes to. A few at a time, each for 15 s at most;
// who waits in the queue waits. On the agent's loop; not thread-safe.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "nodeagent/sync/stub_source.h"
#include "nodeagent/sync/unary_call.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

class LoginSocket {
 public:
  struct Hooks {
    StubSource stub;
    std::function<std::string()> authorities;  // PEM, for who logs in
    std::function<std::uint32_t()> overflow_uid = OverflowUid;
  };
  // Whom the kernel shows in place of each user that it has no number for here: of nobody can be said who they are.
  // An operator may change it at any time (/proc/sys/kernel/overflowuid); where it cannot be read, 65534.
  static std::uint32_t OverflowUid();

  // Listens when this returns Ok, in place of a socket that an earlier agent left. PERMISSION_DENIED (OPEN_FOLDER):
  // others may write to the folder, and could put a socket of theirs there.
  static Result<std::unique_ptr<LoginSocket>> Open(boost::asio::io_context& io, std::string path, Hooks hooks);
  ~LoginSocket();
  void Stop();

 private:
  class Visit;
  LoginSocket(boost::asio::io_context& io, std::string path, Hooks hooks);
  Status Listen();
  void Accept();
  void Ended(const std::shared_ptr<Visit>& visit);

  boost::asio::io_context& io_;
  const std::string path_;
  const Hooks hooks_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  std::set<std::shared_ptr<Visit>> visits_;
  bool accepting_ = false;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
