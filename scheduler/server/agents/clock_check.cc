#include "scheduler/server/agents/clock_check.h"

#include <string>

namespace glim::server {
namespace {

constexpr std::uint64_t kStepsMax = 1000;  // above the epoch that it has accepted an agent believes any
constexpr Duration kBehindMax = Hours(24);

}  // namespace

Status CheckClock(const v1::Hello& hello, std::uint64_t epoch, TimePoint now) {
  const TimePoint clock{hello.clock_ms()};
  if (clock.ms <= 0 || now - clock <= kBehindMax || epoch <= hello.epoch() + kStepsMax) return Status::Ok();
  const auto believed_s = static_cast<std::uint64_t>((clock + kBehindMax).ms / 1000);
  if (epoch <= believed_s) return Status::Ok();
  const std::string behind = std::to_string((now - clock).ms / Hours(1).ms);
  return Status(StatusCode::kFailedPrecondition,
                "the clock of this node is " + behind + " h behind the scheduler's (EPOCH_AHEAD)")
      .WithReason("EPOCH_AHEAD")
      .WithField("clock_ms")
      .WithFix("set the node's clock, and keep it in step (NTP); what runs there runs on");
}

}  // namespace glim::server
