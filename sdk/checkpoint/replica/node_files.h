// The two small files by which a node's agent and its glim-replica know of each other. Neither is secret.
//
//   keys    the agent's, replaced when the scheduler's word changes: whose tokens count
//   state   the service's, replaced when it starts: where it is and by which key it is known. The service holds a lock
//           on it (flock) for as long as it runs: a file without one was left behind
//
// Stateless, any thread.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"
#include "sdk/tokens/ed25519.h"

namespace glim::checkpoint {

inline constexpr std::size_t kNodeFileBytesMax = std::size_t{16} << 10;

struct ReplicaIssuers {
  std::string cluster;
  std::vector<Ed25519Key> keys;
  bool private_fabric = false;  // the policy's word: users on the fabric trust each other
  friend bool operator==(const ReplicaIssuers&, const ReplicaIssuers&) = default;
};
std::string TextOf(const ReplicaIssuers& issuers);
// INVALID_ARGUMENT with the line.
Result<ReplicaIssuers> ParseIssuers(std::string_view text);

// That file as it is now: looked at with each Now, and read when it is another one. A file that cannot be read changes
// nothing, and is tried again. One thread.
class IssuersFile {
 public:
  // `log` is told of a file that cannot be read, once. No file: no keys.
  IssuersFile(std::string path, std::function<void(const std::string&)> log)
      : path_(std::move(path)), log_(std::move(log)) {}
  const ReplicaIssuers& Now();

 private:
  const std::string path_;
  const std::function<void(const std::string&)> log_;
  struct ::stat seen_ {};
  struct ::stat told_ {};  // what `log` was told of
  ReplicaIssuers issuers_;
};

struct ReplicaState {
  std::string address;  // host:port
  Ed25519Key key{};
  std::uint64_t instance = 0;
  friend bool operator==(const ReplicaState&, const ReplicaState&) = default;
};
std::string TextOf(const ReplicaState& state);
Result<ReplicaState> ParseState(std::string_view text);

// The service's own key, in a file that is its alone (0600): made when there is none, so that tasks know a service
// again that was restarted. PERMISSION_DENIED: others may read it. INVALID_ARGUMENT (key_file): it holds something
// else.
Result<Ed25519Seed> ReadOrMakeSeed(const std::string& path);

// Writes the file, readable by all, and keeps it locked as long as the descriptor is open. FAILED_PRECONDITION:
// another service holds it.
Result<UniqueFd> PublishState(const std::string& path, const ReplicaState& state);
// NOT_FOUND: no service that runs has written one. Never waits, follows no link, and quotes nothing of the file, which
// another user writes.
Result<ReplicaState> ReadState(const std::string& path);

}  // namespace glim::checkpoint
