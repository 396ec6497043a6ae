// The first rank of a node, in a communicator of several nodes: it drives the network, for itself or for the processes
// of its node through the segment.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sdk/base/result.h"
#include "sdk/hfreduce/communicator/local_operation.h"
#include "sdk/hfreduce/communicator/part.h"
#include "sdk/hfreduce/engine/engine.h"
#include "sdk/hfreduce/node/segment_side.h"
#include "sdk/hfreduce/transport/transport.h"

namespace glim::hfreduce {

class LeaderPart final : public Part {
 public:
  // `segment`: null where the node has one process and no device. `device`: may be null. Both must outlive the part.
  static Result<std::unique_ptr<LeaderPart>> Create(Segment* segment, DeviceStage* device, Topology topology,
                                                    std::uint32_t node, std::unique_ptr<Transport> transport,
                                                    std::size_t latency_path_bytes_max, Duration timeout);

  void Start(Request request) override;
  bool Step() override;
  bool idle() const override { return waiting_.empty() && running_.empty(); }
  void Tick(TimePoint now) override;
  std::uint64_t progress() const override;
  std::string WaitsFor() const override;
  void Abort(const std::string& reason) override { engine_.Abort(reason); }
  void Leave() override;
  bool left() const override { return engine_.closed() && idle(); }
  bool BeginSleep() override;
  void EndSleep() override;
  std::vector<int> Descriptors() override;

  const char* transport() const { return transport_name_; }
  // 0 once the network is closed.
  std::uint64_t BytesSentTo(NodeIndex node) const;

 private:
  // An operation, and what it refers to.
  struct Running {
    Request request;
    Chunking chunking;
    bool through_segment = false;
    std::unique_ptr<LocalSide> local;
    std::unique_ptr<std::byte[]> sums;  // of a Reduce to another node, whose `out` is nobody's
    bool ended = false;                 // between nodes; the node's processes may still be copying
    Status status;
  };

  LeaderPart(Segment* segment, Topology topology, std::uint32_t node, std::unique_ptr<Transport> transport,
             std::unique_ptr<Exchange> exchange, int bell, std::size_t latency_path_bytes_max, Duration timeout);
  // Else it goes from and to the only process' own buffers.
  bool ThroughSegment(const Request& request) const;
  bool SegmentInUse() const;
  std::string NodeInWords(NodeIndex node) const;
  void StartNext();
  std::unique_ptr<LocalSide> LocalSideOf(Running& running);
  bool FinishEnded();
  // What fails on the node fails everywhere, and the other way round.
  void ShareFailure();

  Segment* segment_;
  Topology topology_;
  std::uint32_t node_;
  std::size_t latency_path_bytes_max_;
  Duration timeout_;
  std::unique_ptr<Transport> transport_;  // until the engine is closed, which then needs it no more
  const char* transport_name_;
  std::unique_ptr<Exchange> exchange_;  // null where there is no segment
  int bell_;
  std::optional<LocalWatch> watch_;
  Routes routes_;
  std::deque<Request> waiting_;  // one at a time goes through the segment
  std::map<std::uint64_t, Running> running_;
  std::uint64_t number_ = 0;
  bool failure_shared_ = false;
  Engine engine_;  // last: it refers to all above
};

}  // namespace glim::hfreduce
