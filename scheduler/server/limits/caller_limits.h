// CallerLimits: who holds how much of the scheduler, and the refusal of more: first by the user, then by the peer, then
// by all together. Nobody who floods takes what others need.
//
// The user is the one whom the call's token has proven. Who has proven nothing is a stranger: all strangers of a peer
// together may what one user may, and take nothing of what its users need. In plaintext mode names can be made up, and
// the peer's bound is what holds whoever does that.
// Thread-safe; a call takes a lock for less than a microsecond. Memory: a row for each user and peer that holds
// something, or has asked within the last seconds.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/server/limits/bounds.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::server {

struct CallerKey {
  std::string user;  // empty: none, and not bounded as one unless it is a stranger
  std::string peer;  // PeerHost
  bool stranger = false;
};

// "ipv4:10.0.0.7" of gRPC's "ipv4:10.0.0.7:51234". All who come by a Unix socket are one peer.
std::string PeerHost(const std::string& grpc_peer);

class CallerLimits;

// The keys of the configuration: "calls" of "user".
const char* KeyOf(Bound bound);
const char* KeyOf(BoundOf of);

// What a caller has been given. Movable; gives back at its end, or earlier what it is told to. One thread at a time.
class Admission {
 public:
  Admission() = default;
  Admission(Admission&& other) noexcept { *this = std::move(other); }
  Admission& operator=(Admission&& other) noexcept;
  ~Admission() { Release(); }

  void Release();
  void Release(Bound bound);
  // More is held, without a question: an answer has been made. Who holds too much is refused the next time.
  void Hold(Bound bound, std::uint64_t amount);

 private:
  friend class CallerLimits;
  CallerLimits* limits_ = nullptr;  // null: holds nothing
  CallerKey caller_;
  BoundNumbers held_{};
};

class CallerLimits {
 public:
  using Amounts = std::vector<std::pair<Bound, std::uint64_t>>;

  // `now` never goes back. The limits outlive what they admit.
  CallerLimits(Bounds bounds, std::function<TimePoint()> now) : bounds_(bounds), now_(std::move(now)) {}

  // All of it or none; one request is counted with it. RESOURCE_EXHAUSTED (OVERLOADED) names the bound by its key in
  // the configuration, whose it is, and says when to try again. Who has used nothing of a rate may take more than its
  // burst once.
  Result<Admission> Admit(const CallerKey& caller, const Amounts& amounts);

  // What all callers hold together, and how often which bound refused somebody.
  struct Figures {
    BoundNumbers held{};
    std::array<BoundNumbers, kBoundLevels> refused{};
  };
  Figures figures() const;
  const Bounds& bounds() const { return bounds_; }

  // For tests: users and peers that have rows.
  std::size_t rows() const;

 private:
  friend class Admission;
  // What was taken of a rate and has not been filled up again, in thousandths.
  struct Bucket {
    std::int64_t used_milli = 0;
    TimePoint filled_at;
  };
  struct Row {
    BoundNumbers held{};
    Bucket requests, changes;
    bool Idle() const;
  };
  using Rows = std::map<std::string, Row>;

  void Fill(BoundOf of, Row* row, TimePoint now) const;
  Status CheckRate(BoundOf of, Bound rate, const Bucket& bucket, const CallerKey& caller, std::uint64_t amount);
  Status Check(BoundOf of, const Row& row, const CallerKey& caller, const Amounts& amounts, std::uint64_t changes);
  Status Refuse(BoundOf of, Bound bound, const CallerKey& caller, std::uint64_t number, std::string when);
  Row* UserRow(const CallerKey& caller);  // null: nobody's
  void Change(const CallerKey& caller, const BoundNumbers& amounts, bool more);
  void ForgetIdle(TimePoint now);

  const Bounds bounds_;
  const std::function<TimePoint()> now_;
  mutable std::mutex mutex_;  // guards what follows
  Rows users_;
  Rows peers_;
  Row all_;
  std::array<BoundNumbers, kBoundLevels> refused_{};
  std::size_t forget_at_ = 1'024;  // rows
};

}  // namespace glim::server
