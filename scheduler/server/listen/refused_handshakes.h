// Connections that TLS has refused before there was a call: on the agents' port, which asks for a certificate.
//
// gRPC 1.51 tells of them in its log alone: OpenSSL's reason, and neither address nor port. So they are counted, and
// the audit trail has a row of how many there were, at most one a minute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sdk/base/time.h"

namespace glim::server {

struct RefusedHandshakes {
  std::uint64_t no_certificate = 0;
  std::uint64_t bad_certificate = 0;  // of another authority, expired, or none that reads
  friend bool operator==(const RefusedHandshakes&, const RefusedHandshakes&) = default;
};

// Takes gRPC's log of this process, for good, and counts in it. Any thread; once is enough. What the log says beside is
// dropped, unless GRPC_VERBOSITY asks for it.
void CountRefusedHandshakes();
// Since then, of all servers of this process. Any thread.
RefusedHandshakes CountedHandshakes();

// What is told of them, and when: the first at once, and all that come after it a minute later. One thread.
class HandshakeWatch {
 public:
  static constexpr Duration kPause = Minutes(1);

  // Whatever was counted before is somebody else's.
  explicit HandshakeWatch(const RefusedHandshakes& before) : told_(before) {}
  // In words: "3 without a certificate, 1 with one that does not count". None: nothing is to be told now.
  std::optional<std::string> Tell(const RefusedHandshakes& counted, TimePoint now);

 private:
  RefusedHandshakes told_;
  TimePoint told_at_;  // 0: never
};

}  // namespace glim::server
