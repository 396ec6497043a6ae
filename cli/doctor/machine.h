// What a machine says of itself, below a root folder that tests choose ("" is the machine's own): small readers that
// change nothing. Stateless but for the root; any thread; they may hang where storage does.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::cli::doctor {

// FOLDER/NAME.
std::string Below(const std::string& folder, const std::string& name);

struct FileFacts {
  bool there = false;
  bool folder = false;
  mode_t mode = 0;  // of permissions alone
  uid_t owner = 0;
  int error = 0;  // errno, if nobody can look; ENOENT: not there
};

struct RoomFacts {
  std::uint64_t bytes = 0, bytes_free = 0;    // free to users
  std::uint64_t inodes = 0, inodes_free = 0;  // 0 inodes: the file system counts none
  bool in_memory = false;                     // tmpfs: gone after a boot
  int error = 0;
};

class Machine {
 public:
  explicit Machine(std::string root = "") : root_(std::move(root)) {}

  // `path` as the machine itself names it.
  std::string Path(const std::string& path) const { return root_ + path; }
  FileFacts Look(const std::string& path) const;
  // Of at most 1 MiB; empty: it is not there, or nobody may read it.
  std::string Text(const std::string& path) const;
  // The first line, without white space around it.
  std::string Line(const std::string& path) const;
  // Names in a folder, sorted.
  std::vector<std::string> Names(const std::string& folder) const;
  RoomFacts Room(const std::string& path) const;
  bool MayRun(const std::string& path) const;

 private:
  std::string root_;
};

// The first of these that may be run; empty: none.
std::string FirstProgram(const Machine& machine, const std::vector<std::string>& paths);

// The kernel's word on the clock.
enum class ClockState { kSynchronised, kNotSynchronised, kUnknown };
ClockState ReadClockState();

// Who listens at a TCP port of this machine.
struct PortFacts {
  bool taken = false;
  std::string program;  // as ps shows it; empty: only root can tell
};
PortFacts WhoListens(const Machine& machine, std::uint16_t port);
// The port of HOST:PORT; 0: none, or a free one.
std::uint16_t PortOf(const std::string& address);
// Whether HOST:PORT takes a connection.
Status TryToConnect(const std::string& address, Duration within);

}  // namespace glim::cli::doctor
