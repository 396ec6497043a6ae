#include "sdk/hfreduce/communicator/node_part.h"

#include <utility>

namespace glim::hfreduce {

Result<std::unique_ptr<NodePart>> NodePart::Create(Segment& segment, Topology topology, Duration timeout) {
  auto reduce = NodeReduce::Create(segment, {.timeout = timeout});
  if (!reduce.ok()) return reduce.status();
  const Result<int> bell = segment.bell().Descriptor();
  if (!bell.ok()) return bell.status();
  return std::unique_ptr<NodePart>(
      new NodePart(segment, std::move(topology), std::move(reduce.value()), *bell, timeout));
}

void NodePart::Start(Request request) { requests_.push_back(std::move(request)); }

bool NodePart::Step() {
  if (requests_.empty()) return false;
  if (segment_.failed()) return FinishFirst(segment_.failure());
  const Request& request = requests_.front();
  if (!begun_) {
    reduce_->Start(LocalOperationOf(request, topology_, 0));
    begun_ = true;
  }
  const bool any = reduce_->Progress();
  if (!reduce_->Ended()) return any;
  if (request.result != nullptr) {
    const auto offset = reduce_->exchange().ResultOffset();
    if (offset) *request.result = {segment_.At(*offset, request.bytes()), request.bytes()};
  }
  return FinishFirst(Status::Ok());
}

bool NodePart::FinishFirst(const Status& status) {
  const Request request = std::move(requests_.front());
  requests_.pop_front();
  begun_ = false;
  request.completion->Finish(status);
  return true;
}

void NodePart::Leave() {
  if (!requests_.empty()) Abort(segment_.NameOf(segment_.local_rank()) + " has left");
}

bool NodePart::BeginSleep() {
  segment_.bell().PrepareDescriptor();
  return !Step();
}

}  // namespace glim::hfreduce
