// A rank of a node with several, in a communicator of several nodes: all but the first of its node.
#pragma once

#include <memory>

#include "sdk/base/result.h"
#include "sdk/hfreduce/communicator/segment_part.h"
#include "sdk/hfreduce/node/segment_side.h"

namespace glim::hfreduce {

class FollowerPart final : public SegmentPart {
 public:
  // `device` may be null. Both must outlive it.
  static Result<std::unique_ptr<FollowerPart>> Create(Segment& segment, DeviceStage* device, Topology topology,
                                                      std::uint32_t node, std::size_t latency_path_bytes_max,
                                                      Duration timeout);

 private:
  // The leader watches the network and says what it finds; it is given longer than its own timeout.
  FollowerPart(Segment& segment, Topology topology, std::uint32_t node, std::size_t latency_path_bytes_max,
               std::unique_ptr<Exchange> exchange, int bell, Duration timeout)
      : SegmentPart(segment, *exchange, bell, timeout * 2),
        topology_(std::move(topology)),
        node_(node),
        latency_path_bytes_max_(latency_path_bytes_max),
        exchange_(std::move(exchange)),
        follower_(*exchange_) {}
  void Begin(const Request& request) override;
  bool Progress() override { return follower_.Progress(); }
  bool Ended() override { return follower_.Ended(); }

  Topology topology_;
  std::uint32_t node_;
  std::size_t latency_path_bytes_max_;
  std::unique_ptr<Exchange> exchange_;
  SegmentFollower follower_;
};

}  // namespace glim::hfreduce
