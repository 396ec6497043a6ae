#include "sdk/checkpoint/replica/replica_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sdk/base/check.h"

namespace glim::checkpoint {
namespace {

// A part's JSON differs by a few bytes from save to save: the slot's memory is not to be made anew for that.
constexpr std::uint64_t kRegionStep = std::uint64_t{1} << 20;
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 50;
constexpr std::uint32_t kWorldMax = 1U << 20;

template <typename Job>
std::uint64_t BytesOf(const Job& job) {
  std::uint64_t bytes = 0;
  for (const auto& [rank, slots] : job.ranks) {
    for (const auto& slot : slots) bytes += slot.region != nullptr ? slot.region->bytes() : 0;
  }
  return bytes;
}

}  // namespace

Status StaleAttempt(std::uint32_t newest) {
  return Status(StatusCode::kFailedPrecondition, "attempt " + std::to_string(newest) + " of the job has begun")
      .WithReason("STALE_ATTEMPT")
      .WithFix("leave: this process belongs to an attempt that was given up");
}

ReplicaTable::ReplicaTable(RegionMaker& maker, std::uint64_t memory_bytes, Duration lease)
    : maker_(maker), memory_bytes_(memory_bytes), lease_(lease) {}

ReplicaTable::~ReplicaTable() = default;

std::uint32_t ReplicaTable::NewestAttempt(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? 0 : found->second.attempt;
}

std::string ReplicaTable::OtherOwner(const std::string& owner) const {
  for (const auto& [name, job] : jobs_) {
    if (job.owner != owner && (job.users > 0 || BytesOf(job) > 0)) return job.owner;
  }
  return "";
}

Status ReplicaTable::Join(User user, const std::string& job, const std::string& owner, std::uint32_t attempt,
                          TimePoint now) {
  GLIM_CHECK(user != 0 && !users_.contains(user), "a user joins once");
  const auto found = jobs_.find(job);
  if (found != jobs_.end() && attempt != 0 && attempt < found->second.attempt) {
    return StaleAttempt(found->second.attempt);
  }
  Job& joined = jobs_[job];
  joined.owner = owner;
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
  if (Status provided = Provide(users_.at(user).job, *chosen, id.attempt, size.image_bytes + size.part_bytes, now);
      !provided.ok()) {
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

Status ReplicaTable::Provide(const std::string& job, Slot& slot, std::uint32_t attempt, std::uint64_t bytes,
                             TimePoint now) {
  const std::uint64_t held = slot.region != nullptr ? slot.region->bytes() : 0;
  if (held >= bytes && slot.region_attempt == attempt) return Status::Ok();
  const std::uint64_t rounded = (bytes + kRegionStep - 1) / kRegionStep * kRegionStep;
  if (used_bytes_ - held + rounded > memory_bytes_) Expire(now);
  if (!MakeRoom(job, held, rounded)) {
    const std::uint64_t others = used_bytes_ - held;
    return Status(StatusCode::kResourceExhausted,
                  "a copy of " + std::to_string(rounded) + " bytes does not fit: " + std::to_string(others) + " of " +
                      std::to_string(memory_bytes_) + " bytes are taken by other copies, and the job has its share")
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

bool ReplicaTable::MakeRoom(const std::string& job, std::uint64_t held, std::uint64_t wanted) {
  if (used_bytes_ - held + wanted <= memory_bytes_) return true;
  return TakeBack(job, /*from_owners=*/true, held, wanted) || TakeBack(job, /*from_owners=*/false, held, wanted);
}

// From other owners, or from other jobs of the same one; nothing unless `job` stays within its share.
bool ReplicaTable::TakeBack(const std::string& job, bool from_owners, std::uint64_t held, std::uint64_t wanted) {
  const std::string& owner = jobs_.at(job).owner;
  std::map<std::string, std::uint64_t> parties;
  std::uint64_t shared = memory_bytes_;
  for (const auto& [name, other] : jobs_) {
    const std::uint64_t bytes = BytesOf(other);
    if (from_owners || other.owner == owner) {
      if (bytes > 0 || name == job) parties[from_owners ? other.owner : name] += bytes;
    } else {
      shared -= bytes;
    }
  }
  const std::string& mine = from_owners ? owner : job;
  const std::uint64_t share = shared / parties.size();
  if (parties[mine] - held + wanted > share) return false;
  parties.erase(mine);
  while (used_bytes_ - held + wanted > memory_bytes_) {
    auto most = parties.end();
    for (auto at = parties.begin(); at != parties.end(); ++at) {
      if (at->second > share && (most == parties.end() || at->second > most->second)) most = at;
    }
    if (most == parties.end()) return false;
    Slot* least = LeastNeeded(most->first, from_owners);
    if (least == nullptr) {  // all that it has is in use
      parties.erase(most);
      continue;
    }
    most->second -= least->region->bytes();
    Free(*least);
  }
  return true;
}

// Empty places first, then copies of which a newer one is held, then those of the job that was used longest ago.
ReplicaTable::Slot* ReplicaTable::LeastNeeded(const std::string& party, bool is_owner) {
  Slot* least = nullptr;
  std::tuple<int, TimePoint, ReplicaId> least_need;
  for (auto& [name, job] : jobs_) {
    if ((is_owner ? job.owner : name) != party) continue;
    for (auto& [rank, slots] : job.ranks) {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        Slot& slot = slots[i];
        const Slot& sibling = slots[1 - i];
        if (slot.region == nullptr || slot.state == State::kWriting || !slot.readers.empty()) continue;
        const bool newer_is_held = sibling.state == State::kWhole && slot.id < sibling.id;
        const int need = slot.state == State::kEmpty ? 0 : newer_is_held ? 1 : 2;
        const std::tuple<int, TimePoint, ReplicaId> this_need{need, job.last_use, slot.id};
        if (least != nullptr && !(this_need < least_need)) continue;
        least = &slot;
        least_need = this_need;
      }
    }
  }
  return least;
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
