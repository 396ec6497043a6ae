#include "sdk/checkpoint/replica/replica_table.h"

#include <algorithm>
#include <utility>

#include "sdk/base/check.h"

namespace glim::checkpoint {
namespace {

// A part's JSON differs by a few bytes from save to save: the slot's memory is not to be made anew for that.
constexpr std::uint64_t kRegionStep = std::uint64_t{1} << 20;
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 50;
constexpr std::uint32_t kWorldMax = 1U << 20;

}  // namespace

Status StaleAttempt(std::uint32_t newest) {
  return Status(StatusCode::kFailedPrecondition, "attempt " + std::to_string(newest) + " of the job has begun")
      .WithReason("STALE_ATTEMPT")
      .WithFix("leave: this process belongs to an attempt that was given up");
}

ReplicaTable::ReplicaTable(RegionMaker& maker, std::uint64_t memory_bytes, Duration lease)
    : maker_(maker), memory_bytes_(memory_bytes), lease_(lease) {}

ReplicaTable::~ReplicaTable() = default;

Status ReplicaTable::Join(User user, const std::string& job, std::uint32_t attempt, TimePoint now) {
  GLIM_CHECK(user != 0 && !users_.contains(user), "a user joins once");
  const auto found = jobs_.find(job);
  if (found != jobs_.end() && attempt != 0 && attempt < found->second.attempt) {
    return StaleAttempt(found->second.attempt);
  }
  Job& joined = jobs_[job];
  joined.attempt = std::max(joined.attempt, attempt);
  joined.last_use = now;
  ++joined.users;
  users_[user] = {job, attempt};
  for (auto& [rank, slots] : joined.ranks) {
    for (Slot& slot : slots) {
      if (slot.state == State::kWriting && slot.id.attempt < joined.attempt) Free(slot);
    }
  }
  return Status::Ok();
}

void ReplicaTable::Leave(User user, TimePoint now) {
  const auto member = users_.find(user);
  if (member == users_.end()) return;
  const auto found = jobs_.find(member->second.job);
  users_.erase(member);
  GLIM_CHECK(found != jobs_.end() && found->second.users > 0, "a user's job is there");
  Job& job = found->second;
  job.last_use = now;
  --job.users;
  for (auto& [rank, slots] : job.ranks) {
    for (Slot& slot : slots) {
      std::erase(slot.readers, user);
      if (slot.writer != user) continue;
      slot.writer = 0;
      slot.state = State::kEmpty;
    }
  }
  if (job.users == 0 && job.ranks.empty() && job.attempt == 0) jobs_.erase(found);
}

ReplicaTable::Job& ReplicaTable::JobOf(User user, TimePoint now) {
  const auto member = users_.find(user);
  GLIM_CHECK(member != users_.end(), "who asks has joined");
  Job& job = jobs_.at(member->second.job);
  job.last_use = now;
  return job;
}

std::optional<ReplicaTable::User> ReplicaTable::WriterOf(const std::string& job, std::uint32_t rank) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return {};
  const auto slots = found->second.ranks.find(rank);
  if (slots == found->second.ranks.end()) return {};
  for (const Slot& slot : slots->second) {
    if (slot.state == State::kWriting) return slot.writer;
  }
  return {};
}

Status ReplicaTable::Check(const Job& job, std::uint32_t attempt, const ReplicaId& id, const ReplicaSize& size) const {
  if (attempt < job.attempt) return StaleAttempt(job.attempt);
  if (id.attempt != attempt || attempt == 0) {
    return InvalidArgument("attempt", "a copy of attempt " + std::to_string(id.attempt) +
                                          " from a process that came as one of attempt " + std::to_string(attempt));
  }
  if (size.world == 0 || size.world > kWorldMax || id.rank >= size.world) {
    return InvalidArgument("rank", "rank " + std::to_string(id.rank) + " of " + std::to_string(size.world));
  }
  if (size.image_bytes > kBytesMax || size.part_bytes > kBytesMax || size.image_bytes + size.part_bytes == 0) {
    return InvalidArgument(
        "bytes", "a copy of " + std::to_string(size.image_bytes) + " + " + std::to_string(size.part_bytes) + " bytes");
  }
  const auto slots = job.ranks.find(id.rank);
  if (slots == job.ranks.end()) return Status::Ok();
  for (const Slot& slot : slots->second) {
    if (slot.state != State::kWhole || slot.id < id) continue;
    return Status(StatusCode::kFailedPrecondition, "step " + std::to_string(slot.id.step) + " of attempt " +
                                                       std::to_string(slot.id.attempt) + " is held already")
        .WithReason("STALE_STEP")
        .WithFix("save steps in rising order");
  }
  return Status::Ok();
}

Result<std::shared_ptr<Region>> ReplicaTable::Reserve(User user, const ReplicaId& id, const ReplicaSize& size,
                                                      TimePoint now) {
  Job& job = JobOf(user, now);
  if (Status checked = Check(job, users_.at(user).attempt, id, size); !checked.ok()) return checked;
  Slots& slots = job.ranks[id.rank];
  for (auto& [rank, others] : job.ranks) {
    for (Slot& slot : others) {
      if (slot.state != State::kWriting || (rank != id.rank && slot.writer != user)) continue;
      slot.state = State::kEmpty;
      slot.writer = 0;
    }
  }
  Slot* chosen = &slots[0];
  if (slots[0].state == State::kWhole && (slots[1].state == State::kEmpty || slots[1].id < slots[0].id)) {
    chosen = &slots[1];
  }
  if (!chosen->readers.empty()) {
    return Status(StatusCode::kUnavailable,
                  "the copy of step " + std::to_string(chosen->id.step) + ", whose place is needed, is being read")
        .WithReason("REPLICA_BEING_READ")
        .WithFix("the next save will find it free");
  }
  if (Status provided = Provide(*chosen, id.attempt, size.image_bytes + size.part_bytes, now); !provided.ok()) {
    // What was refused leaves no trace that could add up.
    if (slots[0].region == nullptr && slots[1].region == nullptr) job.ranks.erase(id.rank);
    return provided;
  }
  chosen->state = State::kWriting;
  chosen->writer = user;
  chosen->id = id;
  chosen->size = size;
  return chosen->region;
}

Status ReplicaTable::Provide(Slot& slot, std::uint32_t attempt, std::uint64_t bytes, TimePoint now) {
  const std::uint64_t held = slot.region != nullptr ? slot.region->bytes() : 0;
  if (held >= bytes && slot.region_attempt == attempt) return Status::Ok();
  const std::uint64_t rounded = (bytes + kRegionStep - 1) / kRegionStep * kRegionStep;
  if (used_bytes_ - held + rounded > memory_bytes_) Expire(now);
  const std::uint64_t others = used_bytes_ - held;
  if (others + rounded > memory_bytes_) {
    return Status(StatusCode::kResourceExhausted,
                  "a copy of " + std::to_string(rounded) + " bytes does not fit: " + std::to_string(others) + " of " +
                      std::to_string(memory_bytes_) + " bytes are taken by other copies")
        .WithReason("REPLICA_MEMORY")
        .WithFix("give the service more memory, twice a node's shards at least");
  }
  Free(slot);
  Result<std::shared_ptr<Region>> region = maker_.Make(rounded);
  if (!region.ok()) return region.status();
  slot.region = std::move(region).value();
  slot.region_attempt = attempt;
  used_bytes_ += rounded;
  return Status::Ok();
}

Status ReplicaTable::Commit(User user, std::uint32_t part_crc32c, TimePoint now) {
  for (auto& [rank, slots] : JobOf(user, now).ranks) {
    for (Slot& slot : slots) {
      if (slot.state != State::kWriting || slot.writer != user) continue;
      slot.state = State::kWhole;
      slot.writer = 0;
      slot.part_crc32c = part_crc32c;
      return Status::Ok();
    }
  }
  return Status(StatusCode::kFailedPrecondition, "there is nothing to commit: another writer has taken the place")
      .WithReason("NOT_RESERVED");
}

Listing ReplicaTable::List(User user, std::uint32_t from_rank, TimePoint now) {
  Listing listing;
  const Job& job = JobOf(user, now);
  for (auto at = job.ranks.lower_bound(from_rank); at != job.ranks.end(); ++at) {
    if (listing.entries.size() + 2 > kListedMax) {
      listing.more = true;
      break;
    }
    for (const Slot& slot : at->second) {
      if (slot.state == State::kWhole) listing.entries.push_back({slot.id, slot.size});
    }
  }
  return listing;
}

Result<HeldCopy> ReplicaTable::Open(User user, const ReplicaId& id, TimePoint now) {
  Job& job = JobOf(user, now);
  const auto slots = job.ranks.find(id.rank);
  if (slots != job.ranks.end()) {
    for (Slot& slot : slots->second) {
      if (slot.state != State::kWhole || slot.id != id) continue;
      if (std::find(slot.readers.begin(), slot.readers.end(), user) == slot.readers.end()) slot.readers.push_back(user);
      return HeldCopy{slot.region, slot.size, slot.part_crc32c};
    }
  }
  return Status(StatusCode::kNotFound, "no copy of rank " + std::to_string(id.rank) + " of step " +
                                           std::to_string(id.step) + " of attempt " + std::to_string(id.attempt));
}

void ReplicaTable::Drop(User user) {
  Job& job = jobs_.at(users_.at(user).job);
  FreeAll(job);
}

std::vector<std::string> ReplicaTable::Expire(TimePoint now) {
  std::vector<std::string> expired;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    if (at->second.users > 0 || now - at->second.last_use < lease_) {
      ++at;
      continue;
    }
    expired.push_back(at->first);
    FreeAll(at->second);
    at = jobs_.erase(at);
  }
  return expired;
}

void ReplicaTable::Free(Slot& slot) {
  if (slot.region != nullptr) used_bytes_ -= slot.region->bytes();
  slot = Slot();
}

void ReplicaTable::FreeAll(Job& job) {
  for (auto& [rank, slots] : job.ranks) {
    for (Slot& slot : slots) Free(slot);
  }
  job.ranks.clear();
}

}  // namespace glim::checkpoint
