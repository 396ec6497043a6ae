#include "tests/bench/hfreduce/bench_rank.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "sdk/hfreduce/communicator/communicator.h"
#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/hfreduce/testing/network.h"
#include "tests/bench/hfreduce/device_memory.h"

namespace glim::hfreduce::bench {
namespace {

// Of a rank's buffer the element i is one of a few whose sums no type rounds: 0, 1 or 2.
int DigitOf(std::uint32_t rank, std::size_t i) { return static_cast<int>((i + rank) % 3); }

std::vector<std::byte> EncodedDigits(DType type) {
  // 0, 1, 2 in each type.
  static constexpr std::uint16_t kHalf[] = {0, 0x3c00, 0x4000};
  static constexpr std::uint16_t kBrain[] = {0, 0x3f80, 0x4000};
  static constexpr std::uint8_t kE4M3[] = {0, 0x38, 0x40};
  static constexpr std::uint8_t kE5M2[] = {0, 0x3c, 0x40};
  std::vector<std::byte> digits(3 * SizeOf(type));
  for (int i = 0; i < 3; ++i) {
    std::byte* to = digits.data() + i * SizeOf(type);
    const float f = static_cast<float>(i);
    const double d = i;
    const std::int32_t n = i;
    const std::int64_t l = i;
    switch (type) {
      case DType::kF32: std::memcpy(to, &f, 4); break;
      case DType::kF64: std::memcpy(to, &d, 8); break;
      case DType::kF16: std::memcpy(to, &kHalf[i], 2); break;
      case DType::kBF16: std::memcpy(to, &kBrain[i], 2); break;
      case DType::kF8E4M3: std::memcpy(to, &kE4M3[i], 1); break;
      case DType::kF8E5M2: std::memcpy(to, &kE5M2[i], 1); break;
      case DType::kI32: std::memcpy(to, &n, 4); break;
      case DType::kI64: std::memcpy(to, &l, 8); break;
      default: break;  // refused by the command line
    }
  }
  return digits;
}

void Fill(DType type, std::uint32_t rank, std::span<std::byte> buffer) {
  const std::size_t size = SizeOf(type);
  const std::vector<std::byte> digits = EncodedDigits(type);
  for (std::size_t i = 0; i * size < buffer.size(); ++i) {
    std::memcpy(buffer.data() + i * size, digits.data() + DigitOf(rank, i) * size, size);
  }
}

// The result has a period of three elements: theirs are reduced from all ranks' alone, in the order of ranks, and every
// element is compared with one of them. (Sums of digits are exact in every type for as many ranks as fit a machine; an
// average may be rounded once a node, and is compared with a tolerance of that.)
bool ResultIsRight(const Setup& setup, std::span<const std::byte> result) {
  const std::uint32_t ranks = setup.nodes * setup.local;
  const std::size_t size = SizeOf(setup.type);
  std::vector<std::vector<std::byte>> parts(ranks, std::vector<std::byte>(3 * size));
  std::vector<std::byte> wanted(3 * size);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    Fill(setup.type, rank, parts[rank]);
    if (rank == 0) {
      wanted = parts[0];
      continue;
    }
    const void* both[] = {wanted.data(), parts[rank].data()};
    const bool last = rank + 1 == ranks;
    Reduce({.type = setup.type, .op = setup.op, .divisor = setup.op == ReduceOp::kAverage && last ? ranks : 1},
           wanted.data(), both, 3);
  }
  for (std::size_t i = 0; i * size < result.size(); ++i) {
    if (std::memcmp(result.data() + i * size, wanted.data() + i % 3 * size, size) != 0) return false;
  }
  return true;
}

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Buffers {
  std::vector<std::byte> own_in, own_out;
  std::unique_ptr<DeviceMemory> device_in, device_out;
  std::span<std::byte> in, out;
};

// From own_in and own_out, on the GPU whose turn it is.
Status MoveToDevice(const Setup& setup, std::uint32_t rank, Buffers& buffers) {
  const auto runtime = device::Runtime::Open(setup.cuda_runtime);
  if (!runtime.ok()) return runtime.status();
  const Result<int> devices = (*runtime)->DeviceCount();
  if (!devices.ok()) return devices.status();
  const device::DeviceScope scope(**runtime, static_cast<int>(rank) % *devices);
  auto in = DeviceMemory::Create(*runtime, setup.bytes);
  auto out = DeviceMemory::Create(*runtime, setup.bytes);
  if (!in.ok()) return in.status();
  if (!out.ok()) return out.status();
  buffers.device_in = std::move(in.value());
  buffers.device_out = std::move(out.value());
  if (Status status = buffers.device_in->Write(buffers.own_in); !status.ok()) return status;
  if (Status status = buffers.device_out->Write(buffers.own_out); !status.ok()) return status;
  buffers.in = buffers.device_in->span();
  buffers.out = buffers.device_out->span();
  return Status::Ok();
}

Status MakeBuffers(const Setup& setup, Communicator& all, Buffers& buffers) {
  if (setup.memory != "shared") {
    buffers.own_in.resize(setup.bytes);
    buffers.own_out.resize(setup.bytes);
    buffers.in = buffers.own_in;
    buffers.out = buffers.own_out;
  } else {
    const auto in = all.Allocate(setup.bytes);
    const auto out = all.Allocate(setup.result == "shared" && all.rank() != 0 ? 1 : setup.bytes);
    if (!in.ok()) return in.status();
    if (!out.ok()) return out.status();
    buffers.in = *in;
    buffers.out = *out;
  }
  Fill(setup.type, all.rank(), buffers.in);
  std::memset(buffers.out.data(), 1, buffers.out.size());
  return setup.memory == "device" ? MoveToDevice(setup, all.rank(), buffers) : Status::Ok();
}

Status Measure(const Setup& setup, Communicator& all, Board& board) {
  Buffers buffers;
  if (Status status = MakeBuffers(setup, all, buffers); !status.ok()) return status;
  const Topology topology = setup.topology();
  const std::uint32_t node = topology.NodeOf(all.rank());
  const bool leader = topology.FirstRankOf(node) == all.rank();
  std::span<const std::byte> result = buffers.out;
  const auto sent = [&](std::uint32_t to) { return all.BytesSentTo(to); };
  std::vector<std::uint64_t> before(setup.nodes);
  double cpu = 0;
  for (std::uint32_t i = 0; i < setup.warmup + setup.iterations; ++i) {
    if (Status status = all.Barrier().Wait(); !status.ok()) return status;
    if (leader) {
      for (std::uint32_t to = 0; to < setup.nodes; ++to) before[to] = sent(to);
    }
    const double cpu_before = CpuSeconds();
    const auto began = std::chrono::steady_clock::now();
    const Handle handle = setup.result == "shared"
                              ? all.AllReduceShared(buffers.in, buffers.out, setup.type, setup.op, &result)
                              : all.AllReduce(buffers.in, buffers.out, setup.type, setup.op);
    if (Status status = Handle(handle).Wait(); !status.ok()) return status;
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
    if (i < setup.warmup) continue;
    cpu += CpuSeconds() - cpu_before;
    board.time(all.rank(), i - setup.warmup) = took.count();
    if (!leader) continue;
    for (std::uint32_t to = 0; to < setup.nodes; ++to) board.sent(node, to) += sent(to) - before[to];
  }
  board.cpu(all.rank()) = cpu * 1e6;
  if (all.rank() == 0) board.set_transport(all.transport());
  if (buffers.device_out) {
    if (Status status = buffers.device_out->Read(buffers.own_out); !status.ok()) return status;
    result = buffers.own_out;
  }
  const bool right = ResultIsRight(setup, result.first(setup.bytes));
  if (Status status = all.Barrier().Wait(); !status.ok()) return status;
  return right ? Status::Ok() : Status(StatusCode::kDataLoss, "the result is wrong");
}

}  // namespace

Result<std::unique_ptr<Board>> Board::Create(const Setup& setup) {
  std::unique_ptr<Board> board(new Board);
  const std::size_t ranks = std::size_t{setup.nodes} * setup.local;
  const std::size_t times = ranks * setup.iterations * sizeof(double);
  const std::size_t cpu = ranks * sizeof(double);
  const std::size_t sent = std::size_t{setup.nodes} * setup.nodes * sizeof(std::uint64_t);
  board->iterations_ = setup.iterations;
  board->nodes_ = setup.nodes;
  board->bytes_ = times + cpu + sent + kNameBytes;
  void* memory = ::mmap(nullptr, board->bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Status(StatusCode::kResourceExhausted, "no memory for the figures");
  board->memory_ = static_cast<std::byte*>(memory);
  board->times_ = reinterpret_cast<double*>(board->memory_);
  board->cpu_ = reinterpret_cast<double*>(board->memory_ + times);
  board->sent_ = reinterpret_cast<std::uint64_t*>(board->memory_ + times + cpu);
  board->name_ = reinterpret_cast<char*>(board->memory_ + times + cpu + sent);
  return board;
}

Board::~Board() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

bool RunRank(const Setup& setup, std::uint32_t rank, std::uint16_t port, Board& board) {
  const Topology topology = setup.topology();
  TcpStoreOptions where;
  where.port = port;
  CommunicatorOptions options;
  options.id = "bench-" + std::to_string(port);
  options.transport = setup.transport == "shm" ? "auto" : setup.transport;
  options.congestion = setup.congestion;
  options.cuda_runtime = setup.memory == "device" ? setup.cuda_runtime : "none";
  options.latency_path_bytes_max = setup.latency_path_bytes_max.value_or(options.latency_path_bytes_max);
  if (setup.netns) {
    where.host = kHubAddress;
    options.listen = AddressOf(topology.NodeOf(rank));
  }
  Status status;
  const auto store = TcpStore::Create(where);
  if (store.ok()) {
    const auto all = Communicator::Create(topology, rank, **store, options);
    status = all.ok() ? Measure(setup, **all, board) : all.status();
  } else {
    status = store.status();
  }
  if (!status.ok()) std::fprintf(stderr, "hfreduce-bench: rank %u: %s\n", rank, status.message().c_str());
  return status.ok();
}

}  // namespace glim::hfreduce::bench
