#include "sdk/hfreduce/communicator/segment_part.h"

#include <utility>

namespace glim::hfreduce {

bool SegmentPart::Step() {
  if (requests_.empty()) return false;
  if (segment_.failed()) return exchange_.Quiet() && FinishFirst(segment_.failure());
  if (!begun_) {
    Begin(requests_.front());
    begun_ = true;
  }
  const bool any = Progress();
  if (!Ended()) return any;
  Finishing(requests_.front());
  return FinishFirst(Status::Ok());
}

bool SegmentPart::FinishFirst(const Status& status) {
  const Request request = std::move(requests_.front());
  requests_.pop_front();
  begun_ = false;
  ++finished_;
  request.completion->Finish(status);
  return true;
}

void SegmentPart::Leave() {
  if (!requests_.empty()) Abort(segment_.NameOf(segment_.local_rank()) + " has left");
}

bool SegmentPart::BeginSleep() {
  segment_.bell().PrepareDescriptor();
  exchange_.PrepareWake();
  return !Step();
}

}  // namespace glim::hfreduce
