// A rank of a node with several, in a communicator of several nodes: all but the first of its node.
#pragma once

#include <deque>
#include <memory>

#include "sdk/base/result.h"
#include "sdk/hfreduce/communicator/local_operation.h"
#include "sdk/hfreduce/communicator/part.h"
#include "sdk/hfreduce/node/segment_side.h"

namespace glim::hfreduce {

class FollowerPart final : public Part {
 public:
  // The segment must outlive it.
  static Result<std::unique_ptr<FollowerPart>> Create(Segment& segment, Topology topology, std::uint32_t node,
                                                      std::size_t latency_path_bytes_max, Duration timeout);

  void Start(Request request) override { requests_.push_back(std::move(request)); }
  bool Step() override;
  bool idle() const override { return requests_.empty(); }
  // The leader watches the network and says what it finds; it is given longer than its own timeout.
  void Tick(TimePoint now) override { watch_.Tick(now, false); }
  void Abort(const std::string& reason) override { segment_.Fail({StatusCode::kAborted, reason}); }
  void Leave() override;
  bool left() const override { return requests_.empty(); }
  bool BeginSleep() override;
  void EndSleep() override { segment_.bell().Cancel(); }
  std::vector<int> Descriptors() override { return {bell_}; }

 private:
  FollowerPart(Segment& segment, Topology topology, std::uint32_t node, std::size_t latency_path_bytes_max,
               std::unique_ptr<Exchange> exchange, int bell, Duration timeout)
      : segment_(segment), topology_(std::move(topology)), node_(node),
        latency_path_bytes_max_(latency_path_bytes_max), exchange_(std::move(exchange)), follower_(*exchange_),
        bell_(bell), watch_(*exchange_, timeout * 2) {}
  bool FinishFirst(const Status& status);

  Segment& segment_;
  Topology topology_;
  std::uint32_t node_;
  std::size_t latency_path_bytes_max_;
  std::unique_ptr<Exchange> exchange_;
  SegmentFollower follower_;
  int bell_;
  LocalWatch watch_;
  std::deque<Request> requests_;
  bool begun_ = false;
};

}  // namespace glim::hfreduce
