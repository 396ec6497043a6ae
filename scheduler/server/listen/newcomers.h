// Newcomers: who has connected to a port and waits for a turn. Addresses have turns, not connections: one that connects
// without end makes nobody else wait.
//
// One thread. Holds kMax connections at most.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>

#include "sdk/base/time.h"
#include "sdk/io/unique_fd.h"

namespace glim::server {

class Newcomers {
 public:
  static constexpr std::size_t kMax = 64;
  static constexpr Duration kPatience = Seconds(1);

  struct One {
    std::string host;  // the peer without its port
    std::string peer;
    int listener = -1;
    UniqueFd socket{};
    TimePoint since{};
  };

  bool empty() const { return size_ == 0; }
  // Nobody is to be added: the rest waits in the kernel's queue. Not so once somebody has waited for long, for behind
  // whoever fills that queue there is no order by address.
  bool IsFull(TimePoint now) const;
  // One too many is hung up on: the last of the address that has most.
  void Add(One one);
  // The longest waiting one of the next address. There is one.
  One Next();

 private:
  std::map<std::string, std::deque<One>> by_host_;  // none is empty
  std::size_t size_ = 0;
  std::string last_;  // had the last turn
};

}  // namespace glim::server
