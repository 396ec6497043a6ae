// A communicator as Python sees it: buffers are addresses, and what they lie in is kept as long as it is in use.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "sdk/hfreduce/communicator/communicator.h"
#include "sdk/hfreduce/environment/environment.h"

namespace glim::hfreduce::python {

// Raised in Python as glim.hfreduce.HfreduceError.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const Status& status);
};

// A range of memory and the object that must live as long as it is used.
struct Memory {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  pybind11::object owner;
  int device = -1;                    // the host's
  std::uintptr_t compute_stream = 0;  // of the device, as in BufferPlace

  std::span<std::byte> span() const { return {reinterpret_cast<std::byte*>(address), bytes}; }
};

class Group;

// An operation in flight. Keeps its communicator.
class Operation {
 public:
  Operation(std::shared_ptr<Group> group, const Handle& handle) : group_(std::move(group)), handle_(handle) {}
  void Wait();
  bool Done() const { return handle_.Done(); }

 private:
  std::shared_ptr<Group> group_;
  Handle handle_;
};

// All calls come with the interpreter's lock, and let go of it while they wait. Communicator's rule of one thread at a
// time holds; Abort, Close and Operation::Wait may come from any.
class Group : public std::enable_shared_from_this<Group> {
 public:
  static std::shared_ptr<Group> Make(const Environment& environment);
  ~Group();

  Operation AllReduce(const Memory& in, const Memory& out, DType type, ReduceOp op);
  Operation Reduce(const Memory& in, const Memory& out, DType type, ReduceOp op, std::uint32_t root);
  Operation Broadcast(const Memory& buffer, std::uint32_t root);
  Operation AllGather(const Memory& in, const Memory& out);
  Operation ReduceScatter(const Memory& in, const Memory& out, DType type, ReduceOp op);
  Operation Barrier();
  Status Wait(Handle& handle);
  void Abort(const std::string& reason);
  // Operations in flight fail, here and everywhere. Again: nothing happens.
  void Close();

  std::uint64_t BytesSentTo(std::uint32_t node);
  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return topology_.ranks(); }
  std::uint32_t node() const { return topology_.NodeOf(rank_); }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(topology_.nodes.size()); }
  const std::string& transport() const { return transport_; }

 private:
  struct InUse {
    Handle handle;
    pybind11::object in;
    pybind11::object out;
  };

  Group(const Environment& environment, std::unique_ptr<Communicator> communicator);
  // Runs `start` on the communicator without the interpreter's lock; the owners are kept until the operation is done.
  template <typename Start>
  Operation Run(const Memory& in, const Memory& out, Start start);

  const Topology topology_;
  const std::uint32_t rank_;
  const std::string transport_;
  std::deque<InUse> in_use_;  // outlives the communicator, which may still write there; behind Python's lock
  std::shared_mutex life_;    // held shared by whoever uses the communicator
  std::atomic<int> waiting_{0};
  std::unique_ptr<Communicator> all_;  // null once closed
};

}  // namespace glim::hfreduce::python
