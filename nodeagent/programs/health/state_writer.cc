#include "nodeagent/programs/health/state_writer.h"

#include <cstdio>
#include <thread>
#include <utility>

namespace glim::nodeagent::health {

StateWriter::StateWriter(std::string path) : path_(std::move(path)) {
  std::thread([this] { Run(); }).detach();
}

void StateWriter::Write(HealthState state, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  waiting_ = std::move(state);
  const std::uint64_t number = ++asked_;
  changed_.notify_all();
  changed_.wait_for(lock, limit, [&] { return done_ >= number; });
}

void StateWriter::Run() {
  for (std::unique_lock lock(mutex_);;) {
    changed_.wait(lock, [&] { return waiting_.has_value(); });
    const HealthState state = *std::exchange(waiting_, std::nullopt);
    const std::uint64_t number = asked_;
    lock.unlock();
    const Status status = WriteHealthState(path_, state);
    if (!status.ok() && !failed_) std::fprintf(stderr, "glim-health: %s\n", status.message().c_str());
    failed_ = !status.ok();
    lock.lock();
    done_ = number;
    changed_.notify_all();
  }
}

}  // namespace glim::nodeagent::health
