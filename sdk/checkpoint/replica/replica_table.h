// What a replica service holds, and for whom: the decisions, without network or clock.
//
// For every rank of a job there are two slots. A save goes into the slot that holds nothing, or else the older copy;
// the newest whole copy is never written over, so that a torn one is never the only one:
//
//   empty --Reserve--> writing --Commit--> whole --Reserve (the other slot is newer)--> writing
//                         |
//                         +--the writer ends, or reserves anew--> empty (its memory is kept for the next save)
//
// A slot's memory belongs to one attempt: whoever has mapped an older attempt's does not reach what a later one writes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/checkpoint/replica/control_message.h"

namespace glim::checkpoint {

// Memory of one slot, by a descriptor that other processes can map. Freed with the last of those that hold it.
class Region {
 public:
  virtual ~Region() = default;
  virtual std::uint64_t number() const = 0;  // never used twice
  virtual std::uint64_t bytes() const = 0;
  virtual int descriptor() const = 0;
};

class RegionMaker {
 public:
  virtual ~RegionMaker() = default;
  // RESOURCE_EXHAUSTED.
  virtual Result<std::shared_ptr<Region>> Make(std::uint64_t bytes) = 0;
};

// A whole copy. The region is the table's: others keep a weak reference at most.
struct HeldCopy {
  std::shared_ptr<Region> region;
  ReplicaSize size;
  std::uint32_t part_crc32c = 0;
};

// What a process of an older attempt is told. FAILED_PRECONDITION, STALE_ATTEMPT.
Status StaleAttempt(std::uint32_t newest);

// One thread. Users are the service's connections (owners are people); before memory is taken from one (Reserve by
// another, a later attempt's Join, Drop), the service has ended its connection, so that nothing of it is on its way.
class ReplicaTable {
 public:
  using User = std::uint64_t;

  // At most `memory_bytes` of regions. A job that nobody has used for `lease` goes. `maker` outlives the table.
  ReplicaTable(RegionMaker& maker, std::uint64_t memory_bytes, Duration lease);
  ~ReplicaTable();

  // `user` has shown that it is of the job, which is `owner`'s. Attempts below `attempt` are over: what they still
  // write is forgotten; 0: it only reads. FAILED_PRECONDITION (STALE_ATTEMPT): a later one was here before.
  Status Join(User user, const std::string& job, const std::string& owner, std::uint32_t attempt, TimePoint now);
  // The highest attempt that was heard of; 0: none.
  std::uint32_t NewestAttempt(const std::string& job) const;
  // Of whom else than `owner` something is held, or somebody is connected; empty: of nobody.
  std::string OtherOwner(const std::string& owner) const;
  // Ends what `user` writes and reads. Harmless for a stranger.
  void Leave(User user, TimePoint now);

  // Who is writing the copy of that rank now, if anybody.
  std::optional<User> WriterOf(const std::string& job, std::uint32_t rank) const;

  // A place for a copy; ends what the user is writing, and what somebody else is writing for that rank.
  // FAILED_PRECONDITION (STALE_ATTEMPT, or STALE_STEP: not above the one held whole), RESOURCE_EXHAUSTED
  // (REPLICA_MEMORY, with amounts), UNAVAILABLE (the older copy is being read), INVALID_ARGUMENT. Where memory is
  // short, owners have equal shares of it, and the jobs of one owner equal shares of his: who has less than that takes
  // memory back from who has more, older copies first, and never what is being written or read.
  Result<std::shared_ptr<Region>> Reserve(User user, const ReplicaId& id, const ReplicaSize& size, TimePoint now);
  // What was reserved last is there whole. FAILED_PRECONDITION: there is nothing reserved (any more).
  Status Commit(User user, std::uint32_t part_crc32c, TimePoint now);

  // Whole copies of the user's job from a rank on; all or none of a rank's.
  Listing List(User user, std::uint32_t from_rank, TimePoint now);
  // The copy stays as it is until the user leaves. NOT_FOUND.
  Result<HeldCopy> Open(User user, const ReplicaId& id, TimePoint now);

  // The user's job is over.
  void Drop(User user);
  // Drops jobs without users whose lease is over; returns their names.
  std::vector<std::string> Expire(TimePoint now);

  std::uint64_t memory_bytes() const { return memory_bytes_; }
  std::uint64_t used_bytes() const { return used_bytes_; }

 private:
  enum class State : std::uint8_t { kEmpty, kWriting, kWhole };
  struct Slot {
    State state = State::kEmpty;
    std::shared_ptr<Region> region;
    std::uint32_t region_attempt = 0;
    ReplicaId id;
    ReplicaSize size;
    std::uint32_t part_crc32c = 0;
    User writer = 0;
    std::vector<User> readers;
  };
  using Slots = std::array<Slot, 2>;
  struct Job {
    std::string owner;
    std::uint32_t attempt = 0;  // the highest seen
    TimePoint last_use;
    std::uint32_t users = 0;
    std::map<std::uint32_t, Slots> ranks;
  };
  struct Membership {
    std::string job;
    std::uint32_t attempt = 0;
  };

  Job& JobOf(User user, TimePoint now);
  Status Check(const Job& job, std::uint32_t attempt, const ReplicaId& id, const ReplicaSize& size) const;
  Status Provide(const std::string& job, Slot& slot, std::uint32_t attempt, std::uint64_t bytes, TimePoint now);
  bool MakeRoom(const std::string& job, std::uint64_t held, std::uint64_t wanted);
  bool TakeBack(const std::string& job, bool from_owners, std::uint64_t held, std::uint64_t wanted);
  Slot* LeastNeeded(const std::string& party, bool is_owner);
  void Free(Slot& slot);
  void FreeAll(Job& job);

  RegionMaker& maker_;
  std::uint64_t memory_bytes_;
  Duration lease_;
  std::uint64_t used_bytes_ = 0;
  std::map<std::string, Job> jobs_;
  std::map<User, Membership> users_;
};

}  // namespace glim::checkpoint
