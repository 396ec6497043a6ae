// A rank whose operations go through the shared segment alone: they are worked on one after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sdk/hfreduce/communicator/local_operation.h"
#include "sdk/hfreduce/communicator/part.h"
#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce {

class SegmentPart : public Part {
 public:
  void Start(Request request) final { requests_.push_back(std::move(request)); }
  bool Step() final;
  bool idle() const final { return requests_.empty(); }
  void Tick(TimePoint now) final { watch_.Tick(now, false); }
  std::uint64_t progress() const final { return finished_ + exchange_.counters().Beats(); }
  std::string WaitsFor() const final { return begun_ ? exchange_.watch().WaitsFor() : ""; }
  void Abort(const std::string& reason) final { segment_.Fail({StatusCode::kAborted, reason}); }
  void Leave() final;
  bool left() const final { return requests_.empty(); }
  bool BeginSleep() final;
  void EndSleep() final { segment_.bell().Cancel(); }
  std::vector<int> Descriptors() final { return {bell_}; }

 protected:
  // `bell` is the segment's descriptor. What is referred to must outlive the part.
  SegmentPart(Segment& segment, Exchange& exchange, int bell, Duration timeout)
      : segment_(segment), exchange_(exchange), bell_(bell), watch_(exchange, timeout) {}

 private:
  virtual void Begin(const Request& request) = 0;
  // Of the one that was begun. True: something was done.
  virtual bool Progress() = 0;
  virtual bool Ended() = 0;
  // Just before the request is finished without an error.
  virtual void Finishing(const Request&) {}
  bool FinishFirst(const Status& status);

  Segment& segment_;
  Exchange& exchange_;
  int bell_;
  LocalWatch watch_;
  std::deque<Request> requests_;  // the first may be begun
  bool begun_ = false;
  std::uint64_t finished_ = 0;
};

}  // namespace glim::hfreduce
