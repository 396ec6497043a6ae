#include "sdk/hfreduce/python/group.h"

#include <optional>
#include <utility>

#include "sdk/hfreduce/environment/make_communicator.h"

namespace glim::hfreduce::python {
namespace {

namespace py = pybind11;

std::string TextOf(const Status& status) {
  return status.fix().empty() ? status.message() : status.message() + " (" + status.fix() + ")";
}

Status Closed() { return {StatusCode::kFailedPrecondition, "the communicator is closed"}; }

// Both buffers are in one place: glim/hfreduce.py sees to that.
BufferPlace PlaceOf(const Memory& memory) {
  if (memory.device < 0) return {.kind = BufferPlace::Kind::kHost};
  return {.kind = BufferPlace::Kind::kDevice,
          .device = memory.device,
          .compute_stream = reinterpret_cast<void*>(memory.compute_stream)};
}

void ThrowIfFailed(const Status& status) {
  if (!status.ok()) throw Failure(status);
}

}  // namespace

Failure::Failure(const Status& status) : std::runtime_error(TextOf(status)) {}

void Operation::Wait() {
  Status status;
  {
    const py::gil_scoped_release release;
    status = group_->Wait(handle_);
  }
  ThrowIfFailed(status);
}

std::shared_ptr<Group> Group::Make(const Environment& environment) {
  Result<std::unique_ptr<Communicator>> made = Closed();
  {
    const py::gil_scoped_release release;
    made = MakeCommunicator(environment);
  }
  ThrowIfFailed(made.status());
  return std::shared_ptr<Group>(new Group(environment, std::move(*made)));
}

Group::Group(const Environment& environment, std::unique_ptr<Communicator> communicator)
    : topology_(environment.topology),
      rank_(environment.rank),
      transport_(communicator->transport()),
      all_(std::move(communicator)) {}

Group::~Group() {
  const py::gil_scoped_release release;
  all_.reset();
}

template <typename Start>
Operation Group::Run(const Memory& in, const Memory& out, Start start) {
  while (!in_use_.empty() && in_use_.front().handle.Done()) in_use_.pop_front();
  std::optional<Handle> handle;
  Status status = Closed();
  {
    const py::gil_scoped_release release;
    const std::shared_lock lock(life_);
    if (all_) status = all_->SetBufferPlace(PlaceOf(in));
    if (status.ok()) handle = start(*all_);
  }
  ThrowIfFailed(status);
  in_use_.push_back({*handle, in.owner, out.owner});
  return {shared_from_this(), *handle};
}

Operation Group::AllReduce(const Memory& in, const Memory& out, DType type, ReduceOp op) {
  return Run(in, out, [&](Communicator& all) { return all.AllReduce(in.span(), out.span(), type, op); });
}

Operation Group::Reduce(const Memory& in, const Memory& out, DType type, ReduceOp op, std::uint32_t root) {
  return Run(in, out, [&](Communicator& all) { return all.Reduce(in.span(), out.span(), type, op, root); });
}

Operation Group::Broadcast(const Memory& buffer, std::uint32_t root) {
  return Run(buffer, {}, [&](Communicator& all) { return all.Broadcast(buffer.span(), root); });
}

Operation Group::AllGather(const Memory& in, const Memory& out) {
  return Run(in, out, [&](Communicator& all) { return all.AllGather(in.span(), out.span()); });
}

Operation Group::ReduceScatter(const Memory& in, const Memory& out, DType type, ReduceOp op) {
  return Run(in, out, [&](Communicator& all) { return all.ReduceScatter(in.span(), out.span(), type, op); });
}

Operation Group::Barrier() {
  return Run({}, {}, [](Communicator& all) { return all.Barrier(); });
}

Status Group::Wait(Handle& handle) {
  const std::shared_lock lock(life_);
  ++waiting_;
  Status status = all_ ? handle.Wait() : Closed();
  --waiting_;
  return status;
}

void Group::Abort(const std::string& reason) {
  const py::gil_scoped_release release;
  const std::shared_lock lock(life_);
  if (all_) all_->Abort(reason);
}

void Group::Close() {
  {
    const py::gil_scoped_release release;
    {
      // Whoever waits in another thread is told, instead of being waited for.
      const std::shared_lock lock(life_);
      if (all_ && waiting_ > 0) all_->Abort("rank " + std::to_string(rank_) + " has closed the communicator");
    }
    const std::lock_guard lock(life_);
    all_.reset();
  }
  in_use_.clear();
}

std::uint64_t Group::BytesSentTo(std::uint32_t node) {
  if (node >= nodes()) throw py::value_error("node: there are " + std::to_string(nodes()) + ", counted from 0");
  const py::gil_scoped_release release;
  const std::shared_lock lock(life_);
  return all_ ? all_->BytesSentTo(node) : 0;
}

}  // namespace glim::hfreduce::python
