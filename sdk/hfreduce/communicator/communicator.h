// Collectives over all ranks of a job: inside a node through shared memory, between nodes along two trees.
//
// Algorithms: sections IV.A to IV.C and the appendix of the Fire-Flyer AI-HPC paper (arXiv 2408.14158), algorithms 1
// and 2; the double binary tree of Sanders, Speck and Traeff (tree/tree.h). docs/explanation/hfreduce.md follows
// one chunk through the code.
//
// Sources: communicator_create.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/kernels/reduce_op.h"
#include "sdk/hfreduce/rendezvous/secret.h"
#include "sdk/hfreduce/rendezvous/store.h"
#include "sdk/hfreduce/tree/topology.h"

namespace glim::hfreduce {

struct CommunicatorOptions {
  std::string id = "0";  // tells the communicators of one store apart
  // Between nodes, the same on all ranks. "auto": verbs where every node has an RDMA port that is up and reaches its
  // neighbours over it, else TCP. "tcp". "verbs": that, or an error. "ucx": verbs, else UCX's own tcp.
  std::string transport = "auto";
  std::string listen = "127.0.0.1";  // address by which the other nodes reach this one
  std::string congestion;            // of TCP sockets; empty: the system's
  int service_level = -1;            // InfiniBand's, of this communicator's traffic, 0 to 15; -1: the device's
  std::string device;                // as UCX_NET_DEVICES, "mlx5_0:1"; empty: what the environment's says, else all
  int numa_node = -1;                // of the network card; -1: unknown
  std::string segment_folder = "/dev/shm";
  std::string rdma_folder = "/sys/class/infiniband";  // another one in tests
  // Without any progress, before an operation fails; also of Create, and how long the end waits for late ranks.
  Duration timeout = Seconds(60);
  // At most so many bytes take the latency path. By hfreduce-bench --switch on two cores: at 32 KiB it is the quicker
  // way with 2 and 4 nodes, at 64 KiB the trees are with 4 (235 us against 355 over TCP; with 2 nodes they are even).
  std::size_t latency_path_bytes_max = 32 << 10;
  // For buffers on a device, CUDA's runtime. "auto": the one that this process has loaded by now, as one that has such
  // buffers has; "none"; or the path of its library.
  std::string cuda_runtime = "auto";
  // Told on rank 0 in one line what the nodes talk over and why, where that was to be chosen. Empty: standard error.
  std::function<void(const std::string& line)> log;
  // Between nodes, the same on all ranks: who does not have it is no peer. Empty: nobody is asked for it.
  Secret secret;
  std::string gdrcopy = "auto";  // for little from and to there: "auto" if it can be loaded, "none", or a path
};

// Where the buffers of operations lie, and what they wait for.
struct BufferPlace {
  enum class Kind : std::uint8_t {
    kDetect,  // each buffer where its address says
    kHost,
    kDevice,  // all, on `device`
  };
  Kind kind = Kind::kDetect;
  int device = 0;
  // cudaStream_t; null: the legacy default stream. What it has when an operation is called is done before buffers on a
  // device are read or written. The stream waits for nothing: what is put on it after Handle::Wait finds the result.
  void* compute_stream = nullptr;
};

class Completion;
class Driver;

// One operation in flight. Copies share it. Dropping every copy does not end the operation. Must not outlive the
// communicator but to be dropped.
class Handle {
 public:
  Handle(std::shared_ptr<Completion> completion, Driver* driver)
      : completion_(std::move(completion)), driver_(driver) {}
  // Ends when the operation has: its buffers may be used again. An error (UNAVAILABLE: a peer died or stalled, and
  // which; INVALID_ARGUMENT: ranks asked for different things, and who; ABORTED) holds for every later operation too.
  // Any thread; while it waits, that thread does the communicator's work.
  Status Wait();
  // Wait would return at once. One that has failed is done too, and its output is not the result: Wait says which.
  bool Done() const;

 private:
  std::shared_ptr<Completion> completion_;
  Driver* driver_;
};

// Every rank calls the same operations in the same order, each from one thread at a time. Operations are asynchronous:
// they go on while the caller computes, and buffers must stay untouched until Wait. Destroying a communicator waits for
// no operation: those in flight fail here and, after a moment, everywhere. (But for copies from and to a device, which
// cannot be called back, and what they wait for on the compute stream.) If all have ended well here, it waits until
// ranks that are late have what this one sent them, for CommunicatorOptions::timeout at most.
// Results have the same bits on all ranks, and are a function of topology, type, operation and number of elements; on
// another topology they may differ in the last bits.
class Communicator {
 public:
  // Blocks until all ranks are here, or DEADLINE_EXCEEDED with who is missing. `store` is used during the call alone.
  // Other errors: INVALID_ARGUMENT (an option or the topology, or another rank was given a different one).
  static Result<std::unique_ptr<Communicator>> Create(const Topology& topology, std::uint32_t rank, Store& store,
                                                      const CommunicatorOptions& options);
  virtual ~Communicator() = default;

  // Of the operations that are called from now on. What they wait for on the compute stream counts against the timeout.
  // FAILED_PRECONDITION: kDevice without CUDA's runtime (CommunicatorOptions::cuda_runtime).
  virtual Status SetBufferPlace(const BufferPlace& place) = 0;

  // Elements of `in` and `out` are of `type`; sizes in bytes. `in` may be `out`.
  virtual Handle AllReduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op) = 0;
  // On one node, without copying results out: the only one lies in rank 0's `out`, which is from Allocate (the other
  // ranks' is not used). `*result` says where every rank reads it, once the handle is done, until the next operation on
  // that buffer. UNIMPLEMENTED on several nodes.
  virtual Handle AllReduceShared(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                                 std::span<const std::byte>* result) = 0;
  // `out` is used on rank `root` alone.
  virtual Handle Reduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                        std::uint32_t root) = 0;
  virtual Handle Broadcast(std::span<std::byte> buffer, std::uint32_t root) = 0;
  // `out` has room for one `in` of every rank, in order of ranks.
  // One broadcast for each rank, all in flight.
  virtual Handle AllGather(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  // One Reduce for each rank, all in flight. `in` has one part for every rank; `out` is what became of this rank's.
  virtual Handle ReduceScatter(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op) = 0;
  virtual Handle Barrier() = 0;

  // Every operation in flight fails here and on all other ranks with ABORTED and this reason.
  virtual void Abort(const std::string& reason) = 0;

  // Memory of this rank that the other processes of its node read in place: an AllReduce from it copies nothing in.
  // Owned by the communicator.
  virtual Result<std::span<std::byte>> Allocate(std::size_t bytes) = 0;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t size() const = 0;
  // "tcp", "ucx" (UCX's own tcp) or "verbs"; "none" on one node, and on a node's ranks but its first.
  virtual const char* transport() const = 0;
  // Payload and headers sent by this node to another.
  virtual std::uint64_t BytesSentTo(std::uint32_t node) const = 0;
};

}  // namespace glim::hfreduce
