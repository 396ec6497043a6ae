// A rank of a communicator that has one node only.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "sdk/base/result.h"
#include "sdk/hfreduce/communicator/local_operation.h"
#include "sdk/hfreduce/communicator/part.h"
#include "sdk/hfreduce/node/node_reduce.h"

namespace glim::hfreduce {

class NodePart final : public Part {
 public:
  // The segment must outlive it.
  static Result<std::unique_ptr<NodePart>> Create(Segment& segment, Topology topology, Duration timeout);

  void Start(Request request) override;
  bool Step() override;
  bool idle() const override { return requests_.empty(); }
  void Tick(TimePoint now) override { watch_.Tick(now, false); }
  void Abort(const std::string& reason) override { segment_.Fail({StatusCode::kAborted, reason}); }
  void Leave() override;
  bool left() const override { return requests_.empty(); }
  bool BeginSleep() override;
  void EndSleep() override { segment_.bell().Cancel(); }
  std::vector<int> Descriptors() override { return {bell_}; }

 private:
  NodePart(Segment& segment, Topology topology, std::unique_ptr<NodeReduce> reduce, int bell, Duration timeout)
      : segment_(segment), topology_(std::move(topology)), reduce_(std::move(reduce)), bell_(bell),
        watch_(reduce_->exchange(), timeout) {}
  bool FinishFirst(const Status& status);

  Segment& segment_;
  Topology topology_;
  std::unique_ptr<NodeReduce> reduce_;
  int bell_;
  LocalWatch watch_;
  std::deque<Request> requests_;  // the first may be begun
  bool begun_ = false;
};

}  // namespace glim::hfreduce
