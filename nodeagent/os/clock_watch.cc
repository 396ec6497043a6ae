#include "nodeagent/os/clock_watch.h"

#include <chrono>
#include <utility>

namespace glim::nodeagent {
namespace {

constexpr std::chrono::milliseconds kLook(500);
constexpr Duration kMoment = Seconds(2);

Duration Ahead() {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto wall = duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto steady = duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return Milliseconds(wall - steady);
}

}  // namespace

ClockWatch::ClockWatch(boost::asio::io_context& io, std::function<void(Duration)> set_back)
    : timer_(io), set_back_(std::move(set_back)), ahead_(Ahead()) {}

void ClockWatch::Start() {
  timer_.expires_after(kLook);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    Look();
    Start();
  });
}

void ClockWatch::Stop() { timer_.cancel(); }

void ClockWatch::Look() {
  const Duration now = Ahead();
  const auto by = SetBack(std::exchange(ahead_, now), now);
  if (by) set_back_(*by);
}

std::optional<Duration> ClockWatch::SetBack(Duration before, Duration now) {
  if (before.ms - now.ms <= kMoment.ms) return std::nullopt;
  return Milliseconds(before.ms - now.ms);
}

}  // namespace glim::nodeagent
