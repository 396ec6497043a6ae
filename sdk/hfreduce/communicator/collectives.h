// The communicator: requests in the terms of the driver's part.
#pragma once

#include <memory>
#include <string>

#include "sdk/hfreduce/communicator/communicator.h"
#include "sdk/hfreduce/communicator/driver.h"
#include "sdk/hfreduce/communicator/leader_part.h"
#include "sdk/hfreduce/node/device_stage.h"
#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce {

class Collectives final : public Communicator {
 public:
  // `leader` is the driver's part, null if it is another. `segment` may be null, and `device`.
  Collectives(Topology topology, std::uint32_t rank, std::unique_ptr<Segment> segment,
              std::unique_ptr<DeviceStage> device, const LeaderPart* leader, std::unique_ptr<Driver> driver)
      : topology_(std::move(topology)),
        rank_(rank),
        segment_(std::move(segment)),
        device_(std::move(device)),
        leader_(leader),
        driver_(std::move(driver)) {}

  Status SetBufferPlace(const BufferPlace& place) override;
  Handle AllReduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op) override;
  Handle AllReduceShared(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                         std::span<const std::byte>* result) override;
  Handle Reduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                std::uint32_t root) override;
  Handle Broadcast(std::span<std::byte> buffer, std::uint32_t root) override;
  Handle AllGather(std::span<const std::byte> in, std::span<std::byte> out) override;
  Handle ReduceScatter(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op) override;
  Handle Barrier() override;
  void Abort(const std::string& reason) override { driver_->Abort(reason); }
  Result<std::span<std::byte>> Allocate(std::size_t bytes) override;
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return topology_.ranks(); }
  const char* transport() const override { return leader_ != nullptr ? leader_->transport() : "none"; }
  std::uint64_t BytesSentTo(std::uint32_t node) const override;

 private:
  Handle Refused(Status status);
  Handle Submit(Request request);
  // Says in the request which buffers are on a device.
  Status Place(Request& request) const;
  // A rank's own part of what it gathers.
  Status CopyOwnPart(std::byte* to, std::span<const std::byte> from) const;

  Topology topology_;
  std::uint32_t rank_;
  BufferPlace place_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<DeviceStage> device_;
  const LeaderPart* leader_;
  std::vector<std::unique_ptr<std::byte[]>> allocated_;  // where there is no segment
  std::unique_ptr<Driver> driver_;                       // goes before what its part uses
};

}  // namespace glim::hfreduce
