// A rank of a communicator that has one node only.
#pragma once

#include <memory>

#include "sdk/base/result.h"
#include "sdk/hfreduce/communicator/segment_part.h"
#include "sdk/hfreduce/node/node_reduce.h"

namespace glim::hfreduce {

class NodePart final : public SegmentPart {
 public:
  // `device` may be null. Both must outlive it.
  static Result<std::unique_ptr<NodePart>> Create(Segment& segment, DeviceStage* device, Topology topology,
                                                  Duration timeout);

 private:
  NodePart(Segment& segment, Topology topology, std::unique_ptr<NodeReduce> reduce, int bell, Duration timeout)
      : SegmentPart(segment, reduce->exchange(), bell, timeout),
        topology_(std::move(topology)),
        reduce_(std::move(reduce)) {}
  void Begin(const Request& request) override { reduce_->Start(LocalOperationOf(request, topology_, 0)); }
  bool Progress() override { return reduce_->Progress(); }
  bool Ended() override { return reduce_->Ended(); }
  void Finishing(const Request& request) override;

  Topology topology_;
  std::unique_ptr<NodeReduce> reduce_;
};

}  // namespace glim::hfreduce
