// The serving half of TcpStore: one thread, one poll loop, everything in memory.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "sdk/hfreduce/rendezvous/store_message.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"

namespace glim::hfreduce {

class TcpStore::Server {
 public:
  // Both descriptors are there.
  Server(UniqueFd listener, UniqueFd stop);
  // Everyone who still waits sees the connection end.
  ~Server();

 private:
  struct Caller {
    UniqueFd socket;
    std::string in;
    std::string out;
    std::optional<std::string> waits_for;  // a key
    Deadline deadline;
  };

  void Loop();
  void AcceptAll();
  // True: done with the caller.
  bool Hear(Caller& caller);
  bool Answer(Caller& caller, StatusCode code, const std::string& value);
  bool Write(Caller& caller);
  bool Execute(Caller& caller, const StoreMessage& request);
  bool Set(Caller& caller, const StoreMessage& request);
  bool Serve(Caller& caller, bool ready);

  UniqueFd listener_;
  UniqueFd stop_;  // an eventfd
  std::map<std::string, std::string> values_;
  std::size_t bytes_ = 0;
  bool written_ = false;  // a key, since the callers were last looked at
  std::list<Caller> callers_;
  std::thread thread_;
};

}  // namespace glim::hfreduce
