// When to try again: 100 ms, doubled up to 5 s, with jitter so that a thousand agents do not come back at one moment;
// about 5 s after a refusal that time alone does not mend.
#pragma once

#include <grpcpp/support/status.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "sdk/base/rng.h"

namespace glim::nodeagent {

class Reconnect {
 public:
  explicit Reconnect(std::uint64_t seed) : rng_(seed) {}

  void Succeeded() { pause_ms_ = kFirstMs; }

  std::chrono::milliseconds Next(bool refused) {
    const std::int64_t pause = refused ? kLongestMs : pause_ms_;
    pause_ms_ = std::min(pause_ms_ * 2, kLongestMs);
    return std::chrono::milliseconds(pause / 2 + rng_.Between(0, pause / 2));
  }

  // Whether the scheduler said no, rather than nothing.
  static bool IsRefusal(grpc::StatusCode code) {
    switch (code) {
      case grpc::StatusCode::FAILED_PRECONDITION:
      case grpc::StatusCode::INVALID_ARGUMENT:
      case grpc::StatusCode::ALREADY_EXISTS:
      case grpc::StatusCode::PERMISSION_DENIED:
      case grpc::StatusCode::UNAUTHENTICATED:
      case grpc::StatusCode::UNIMPLEMENTED: return true;
      default: return false;
    }
  }

 private:
  static constexpr std::int64_t kFirstMs = 100;
  static constexpr std::int64_t kLongestMs = 5000;
  Rng rng_;
  std::int64_t pause_ms_ = kFirstMs;
};

}  // namespace glim::nodeagent
