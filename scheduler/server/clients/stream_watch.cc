#include "scheduler/server/clients/stream_watch.h"

#include <chrono>
#include <utility>
#include <vector>

namespace glim::server {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(300);

}  // namespace

void StreamWatch::Watch(std::shared_ptr<WatchedStream> stream, Caller caller, const Permission* row, core::JobId job) {
  if (door_->mode() == Door::Mode::kPlaintext || stopped_) return;
  const WatchedStream* const key = stream.get();
  streams_[key] = {std::move(stream), std::move(caller), row, job, false};
  if (!looking_) LookLater();
}

void StreamWatch::Forget(const WatchedStream* stream) { streams_.erase(stream); }

void StreamWatch::Stop() {
  stopped_ = true;
  timer_.cancel();
  streams_.clear();
}

void StreamWatch::LookLater() {
  looking_ = true;
  timer_.expires_after(kLookEvery);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Look();
  });
}

void StreamWatch::Look() {
  looking_ = false;
  std::vector<std::shared_ptr<WatchedStream>> cut;
  std::vector<std::pair<std::shared_ptr<WatchedStream>, Status>> evicted;
  for (auto& [key, watched] : streams_) {
    if (watched.evicted) {
      cut.push_back(watched.stream);
      continue;
    }
    Status allowed = door_->StillAllowed(watched.caller, *watched.row, watched.job);
    if (allowed.ok()) continue;
    watched.evicted = true;
    evicted.emplace_back(watched.stream, std::move(allowed));
  }
  for (const auto& [stream, status] : evicted) stream->Evict(status);
  for (const auto& stream : cut) stream->Cut();
  if (!streams_.empty()) LookLater();
}

}  // namespace glim::server
