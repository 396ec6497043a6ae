#include "sdk/hfreduce/node/peer_watch.h"

#include <algorithm>
#include <chrono>

namespace glim::hfreduce {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Duration kCheckPeersEvery = Milliseconds(50);
constexpr std::chrono::microseconds kSpin{30};  // about what falling asleep and being woken costs

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Status PeerWatch::Drive(const std::function<bool()>& step, const std::function<bool()>& ended,
                        const std::function<void()>& prepare_wake, Duration timeout) {
  Clock::time_point last_check = Clock::now();
  Clock::time_point last_beat = last_check;
  std::uint64_t beats = 0;
  const auto moved = [&] { return step() || ended() || segment_.failed(); };
  for (;;) {
    if (ended()) return Status::Ok();
    if (segment_.failed()) return segment_.failure();
    if (step()) continue;
    if (spins_) {
      const Clock::time_point until = Clock::now() + kSpin;
      bool found = false;
      while (!(found = moved()) && Clock::now() < until) Pause();
      if (found) continue;
    }
    segment_.bell().PrepareFutex();
    prepare_wake();
    if (moved()) {
      segment_.bell().Cancel();
      continue;
    }
    segment_.bell().SleepOnFutex(kCheckPeersEvery);
    const Clock::time_point now = Clock::now();
    if (now - last_check < std::chrono::milliseconds(kCheckPeersEvery.ms)) continue;
    last_check = now;
    if (const std::uint64_t sum = counters_.Beats(); sum != beats) {
      beats = sum;
      last_beat = now;
    }
    const bool stalled = now - last_beat >= std::chrono::milliseconds(timeout.ms);
    if (Status status = CheckPeers(stalled); !status.ok() && !ended()) segment_.Fail(status);
  }
}

Status PeerWatch::CheckPeers(bool stalled) {
  if (Status status = segment_.CheckAlive(agreement_.sequence()); !status.ok()) {
    return Status(status.code(), status.message() + " during " + agreement_.Text() + Which());
  }
  if (!stalled) return Status::Ok();
  return Status(StatusCode::kUnavailable, WaitsFor());
}

std::string PeerWatch::WaitsFor() const { return Behind() + Which(); }

std::string PeerWatch::Which() const { return " (operation " + std::to_string(agreement_.sequence()) + ")"; }

std::string PeerWatch::Behind() const {
  const std::string what = agreement_.Text();
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t least_arrived = ~std::uint64_t{0};
  std::uint32_t slowest = segment_.local_rank();
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    RankState& state = segment_.rank(rank);
    if (rank == segment_.local_rank()) continue;
    if (state.posted.Get() < agreement_.sequence()) return segment_.NameOf(rank) + " has not called " + what;
    if (state.reducing.Get() != 0) return segment_.NameOf(rank) + " has stalled while it reduced a chunk of " + what;
    std::uint64_t taken = 0;
    std::uint64_t arrived = 0;
    for (int h = 0; h < kHalves; ++h) {
      arrived += state.arrived[h].Get();
      taken += state.taken[h].Get();
    }
    least_arrived = std::min(least_arrived, arrived);
    if (arrived + taken >= least) continue;
    least = arrived + taken;
    slowest = rank;
  }
  // Where the leader alone reduces, the others have done what they can.
  if (counters_.reducer() == Reducer::kLeader && segment_.local_rank() != 0 &&
      least_arrived >= slots_.End(0) + slots_.End(1)) {
    slowest = 0;
  }
  return segment_.NameOf(slowest) + " has stalled in " + what;
}

}  // namespace glim::hfreduce
