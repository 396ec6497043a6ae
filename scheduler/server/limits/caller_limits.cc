#include "scheduler/server/limits/caller_limits.h"

#include <algorithm>
#include <iterator>

#include "sdk/base/size_text.h"

namespace glim::server {
namespace {

constexpr std::int64_t kMilli = 1'000;

std::size_t Index(Bound bound) { return static_cast<std::size_t>(bound); }

struct Words {
  const char* key;   // in the configuration
  const char* what;  // "N of them"
  const char* when;  // to try again
};

Words WordsOf(Bound bound) {
  switch (bound) {
    case Bound::kRequests: return {"requests_per_second", "requests a second", ""};
    case Bound::kCalls: return {"calls", "calls that are not over", "try again in 1 s, with fewer calls at a time"};
    case Bound::kStreams: return {"streams", "logs and events being read", "end one of them, or try again in 10 s"};
    case Bound::kReads: return {"reads", "questions about the history at a time", "try again in 1 s"};
    case Bound::kBytes:
      return {"queued_mib", "bytes waiting", "try again in 1 s, with less at a time, and take the answers"};
    case Bound::kAgentStreams: return {"agent_streams", "agents' streams", "try again in 10 s"};
    case Bound::kChanges: return {"changes_kib_per_second", "bytes of changes a second", ""};
    case Bound::kAgentHellos: return {"agent_hellos", "agents' streams that have not said hello", "try again in 10 s"};
  }
  return {"", "", ""};
}

std::string WhoseWords(BoundOf of, const CallerKey& caller) {
  if (of == BoundOf::kUser && caller.stranger) return "those at peer " + caller.peer + " who have shown no token have";
  if (of == BoundOf::kUser) return "user " + caller.user + " has";
  return of == BoundOf::kPeer ? "peer " + caller.peer + " has" : "all callers together have";
}

Status Refusal(BoundOf of, Bound bound, const CallerKey& caller, std::uint64_t number, std::string when) {
  const Words words = WordsOf(bound);
  const std::string key = std::string("limits.") + KeyOf(of) + "." + words.key;
  const bool bytes = bound == Bound::kBytes || bound == Bound::kChanges;
  return Status(StatusCode::kResourceExhausted,
                WhoseWords(of, caller) + " as many " + words.what +
                    " as may be: " + (bytes ? RoundedSizeText(number) : std::to_string(number)) + " (" + key + ")")
      .WithReason("OVERLOADED")
      .WithField(key)
      .WithFix(std::move(when));
}

}  // namespace

const char* KeyOf(Bound bound) { return WordsOf(bound).key; }

const char* KeyOf(BoundOf of) { return of == BoundOf::kUser ? "user" : of == BoundOf::kPeer ? "peer" : "all"; }

std::string PeerHost(const std::string& grpc_peer) {
  if (grpc_peer.starts_with("unix")) return "unix";
  const std::size_t colon = grpc_peer.rfind(':');
  const std::size_t scheme = grpc_peer.find(':');
  return colon == std::string::npos || colon == scheme ? grpc_peer : grpc_peer.substr(0, colon);
}

Admission& Admission::operator=(Admission&& other) noexcept {
  Release();
  limits_ = std::exchange(other.limits_, nullptr);
  caller_ = std::move(other.caller_);
  held_ = std::exchange(other.held_, {});
  return *this;
}

void Admission::Release() {
  if (limits_ != nullptr) limits_->Change(caller_, held_, false);
  limits_ = nullptr;
  held_ = {};
}

void Admission::Release(Bound bound) {
  BoundNumbers back{};
  back[Index(bound)] = std::exchange(held_[Index(bound)], 0);
  if (limits_ != nullptr && back[Index(bound)] > 0) limits_->Change(caller_, back, false);
}

void Admission::Hold(Bound bound, std::uint64_t amount) {
  if (limits_ == nullptr) return;
  BoundNumbers more{};
  more[Index(bound)] = amount;
  held_[Index(bound)] += amount;
  limits_->Change(caller_, more, true);
}

bool CallerLimits::Row::Idle() const {
  return requests.used_milli == 0 && changes.used_milli == 0 &&
         std::all_of(held.begin(), held.end(), [](std::uint64_t one) { return one == 0; });
}

void CallerLimits::Fill(BoundOf of, Row* row, TimePoint now) const {
  const auto fill = [&](Bound rate, Bucket& bucket) {
    const auto per_ms = static_cast<std::int64_t>(bounds_.At(of, rate));  // thousandths a millisecond
    // In a day any bucket is full.
    const std::int64_t passed = std::clamp<std::int64_t>((now - bucket.filled_at).ms, 0, Hours(24).ms);
    bucket.used_milli = std::max<std::int64_t>(0, bucket.used_milli - passed * per_ms);
    bucket.filled_at = now;
  };
  fill(Bound::kRequests, row->requests);
  fill(Bound::kChanges, row->changes);
}

Status CallerLimits::Refuse(BoundOf of, Bound bound, const CallerKey& caller, std::uint64_t number, std::string when) {
  ++refused_.at(static_cast<std::size_t>(of)).at(Index(bound));
  return Refusal(of, bound, caller, number, std::move(when));
}

Status CallerLimits::CheckRate(BoundOf of, Bound rate, const Bucket& bucket, const CallerKey& caller,
                               std::uint64_t amount) {
  const std::uint64_t number = bounds_.At(of, rate);
  const auto per_ms = static_cast<std::int64_t>(number);
  const std::int64_t burst = per_ms * BurstSeconds(rate) * kMilli;
  const std::int64_t beyond = bucket.used_milli + static_cast<std::int64_t>(amount) * kMilli - burst;
  if (amount == 0 || bucket.used_milli == 0 || beyond <= 0) return Status::Ok();
  const std::int64_t ms = std::min(beyond, bucket.used_milli) / per_ms + 1;
  if (rate == Bound::kRequests) {
    return Refuse(of, rate, caller, number, "try again in " + std::to_string(ms) + " ms, and less often");
  }
  return Refuse(of, rate, caller, number,
                "try again in " + std::to_string(ms / kMilli + 1) + " s, with fewer or smaller jobs: " +
                    RoundedSizeText(number * static_cast<std::uint64_t>(BurstSeconds(rate))) + " may come at once");
}

Status CallerLimits::Check(BoundOf of, const Row& row, const CallerKey& caller, const Amounts& amounts,
                           std::uint64_t changes) {
  if (Status s = CheckRate(of, Bound::kRequests, row.requests, caller, 1); !s.ok()) return s;
  if (Status s = CheckRate(of, Bound::kChanges, row.changes, caller, changes); !s.ok()) return s;
  for (const auto& [bound, amount] : amounts) {
    if (IsRate(bound)) continue;
    const std::uint64_t number = bounds_.At(of, bound);
    const std::uint64_t held = row.held[Index(bound)];
    // Alone, a single call may always be as large as a message may be.
    if (held > 0 ? held + amount <= number : amount <= std::max(number, 16 * kMib)) continue;
    return Refuse(of, bound, caller, number, WordsOf(bound).when);
  }
  return Status::Ok();
}

CallerLimits::Row* CallerLimits::UserRow(const CallerKey& caller) {
  if (caller.stranger) return &users_["\n" + caller.peer];  // no user's name
  return caller.user.empty() ? nullptr : &users_[caller.user];
}

Result<Admission> CallerLimits::Admit(const CallerKey& caller, const Amounts& amounts) {
  const TimePoint now = now_();
  std::uint64_t changes = 0;
  for (const auto& [bound, amount] : amounts) changes += bound == Bound::kChanges ? amount : 0;
  std::lock_guard lock(mutex_);
  ForgetIdle(now);
  Row* const user = UserRow(caller);
  const std::pair<BoundOf, Row*> levels[] = {
      {BoundOf::kUser, user}, {BoundOf::kPeer, &peers_[caller.peer]}, {BoundOf::kAll, &all_}};
  for (const auto& [of, row] : levels) {
    if (row == nullptr) continue;
    Fill(of, row, now);
    if (Status s = Check(of, *row, caller, amounts, changes); !s.ok()) return s;
  }
  Admission admission;
  admission.limits_ = this;
  admission.caller_ = caller;
  for (const auto& [bound, amount] : amounts) admission.held_[Index(bound)] += IsRate(bound) ? 0 : amount;
  for (const auto& [of, row] : levels) {
    if (row == nullptr) continue;
    row->requests.used_milli += kMilli;
    row->changes.used_milli += static_cast<std::int64_t>(changes) * kMilli;
    for (std::size_t i = 0; i < kBounds; ++i) row->held[i] += admission.held_[i];
  }
  return admission;
}

void CallerLimits::Change(const CallerKey& caller, const BoundNumbers& amounts, bool more) {
  std::lock_guard lock(mutex_);
  Row* const user = UserRow(caller);
  for (Row* row : {user, &peers_[caller.peer], &all_}) {
    if (row == nullptr) continue;
    for (std::size_t i = 0; i < kBounds; ++i) row->held[i] += more ? amounts[i] : -amounts[i];  // unsigned: it wraps
  }
}

// Made-up names must not fill the memory: whoever holds nothing and has not asked lately has no row.
void CallerLimits::ForgetIdle(TimePoint now) {
  if (users_.size() + peers_.size() < forget_at_) return;
  for (const BoundOf of : {BoundOf::kUser, BoundOf::kPeer}) {
    Rows& rows = of == BoundOf::kUser ? users_ : peers_;
    for (auto it = rows.begin(); it != rows.end();) {
      Fill(of, &it->second, now);
      it = it->second.Idle() ? rows.erase(it) : std::next(it);
    }
  }
  forget_at_ = std::max<std::size_t>(1'024, 2 * (users_.size() + peers_.size()));
}

CallerLimits::Figures CallerLimits::figures() const {
  std::lock_guard lock(mutex_);
  return {all_.held, refused_};
}

std::size_t CallerLimits::rows() const {
  std::lock_guard lock(mutex_);
  return users_.size() + peers_.size();
}

}  // namespace glim::server
