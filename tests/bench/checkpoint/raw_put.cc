#include "tests/bench/checkpoint/raw_put.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <functional>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/net/ucx/endpoint.h"
#include "sdk/net/ucx/memory.h"
#include "tests/bench/checkpoint/bench_data.h"

namespace glim::checkpoint::bench {
namespace {

constexpr Duration kPatience = Seconds(60);

std::unique_ptr<net::ucx::Worker> OpenWorker(const std::string& tls) {
  auto worker = net::ucx::Worker::Open({tls, tls == "tcp" ? "lo" : "", -1});
  GLIM_CHECK(worker.ok(), worker.status().message());
  return std::move(worker).value();
}

void SendText(int pipe, const std::string& text) {
  const std::uint64_t bytes = text.size();
  GLIM_CHECK(::write(pipe, &bytes, sizeof bytes) == sizeof bytes, "pipe");
  GLIM_CHECK(::write(pipe, text.data(), bytes) == static_cast<ssize_t>(bytes), "pipe");
}

std::string ReceiveText(int pipe) {
  std::uint64_t bytes = 0;
  GLIM_CHECK(::read(pipe, &bytes, sizeof bytes) == sizeof bytes, "the raw peer has failed");
  std::string text(bytes, '\0');
  GLIM_CHECK(::read(pipe, text.data(), bytes) == static_cast<ssize_t>(bytes), "pipe");
  return text;
}

[[noreturn]] void Hold(const std::string& tls, std::uint64_t bytes, int tell, int hear) {
  auto worker = OpenWorker(tls);
  // The same kind of memory as the service's.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  GLIM_CHECK(memory != MAP_FAILED, "mmap");
  auto registered = net::ucx::Memory::Register(*worker, {static_cast<std::byte*>(memory), bytes});
  GLIM_CHECK(registered.ok(), registered.status().message());
  SendText(tell, worker->address());
  SendText(tell, (*registered)->key());
  SendText(tell, std::to_string(reinterpret_cast<std::uint64_t>(memory)));
  auto endpoint = net::ucx::Endpoint::Open(*worker, ReceiveText(hear));
  GLIM_CHECK(endpoint.ok(), endpoint.status().message());
  for (;;) {
    if (worker->Progress()) continue;
    pollfd waiting{worker->event_descriptor(), POLLIN, 0};
    if (worker->Arm()) ::poll(&waiting, 1, -1);
  }
}

class Peer final : public RawPeer {
 public:
  Peer(pid_t pid, const std::string& tls, int hear, int tell) : pid_(pid), worker_(OpenWorker(tls)) {
    const std::string address = ReceiveText(hear);
    const std::string key = ReceiveText(hear);
    memory_ = std::stoull(ReceiveText(hear));
    SendText(tell, worker_->address());
    endpoint_ = net::ucx::Endpoint::Open(*worker_, address).value();
    key_ = endpoint_->Unpack(key).value();
  }
  ~Peer() override {
    endpoint_.reset();
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  Result<double> Put(std::span<const std::byte> memory, std::uint64_t block, std::uint32_t depth) override {
    return Move(memory.size(), block, depth, [&](std::uint64_t at, std::uint64_t bytes) {
      return endpoint_->Put(memory.subspan(at, bytes), memory_ + at, key_);
    });
  }
  Result<double> Get(std::span<std::byte> memory, std::uint64_t block, std::uint32_t depth) override {
    return Move(memory.size(), block, depth, [&](std::uint64_t at, std::uint64_t bytes) {
      return endpoint_->Get(memory.subspan(at, bytes), memory_ + at, key_);
    });
  }

 private:
  Result<double> Move(std::uint64_t bytes, std::uint64_t block, std::uint32_t depth,
                      const std::function<ucs_status_ptr_t(std::uint64_t, std::uint64_t)>& start) {
    Status status;
    const double ms = MillisOf([&] {
      std::deque<ucs_status_ptr_t> under_way;
      for (std::uint64_t at = 0; at < bytes && status.ok(); at += block) {
        if (under_way.size() >= depth) {
          status = worker_->Await(under_way.front(), kPatience, "raw");
          under_way.pop_front();
        }
        under_way.push_back(start(at, std::min(block, bytes - at)));
      }
      for (ucs_status_ptr_t request : under_way) {
        if (status.ok()) status = worker_->Await(request, kPatience, "raw");
      }
      if (status.ok()) status = worker_->Await(endpoint_->Flush(), kPatience, "raw");
    });
    if (!status.ok()) return status;
    return ms;
  }

  pid_t pid_;
  std::unique_ptr<net::ucx::Worker> worker_;
  std::unique_ptr<net::ucx::Endpoint> endpoint_;
  ucp_rkey_h key_ = nullptr;
  std::uint64_t memory_ = 0;
};

}  // namespace

Result<std::unique_ptr<RawPeer>> RawPeer::Start(const std::string& tls, std::uint64_t bytes) {
  int its[2];
  int ours[2];
  if (::pipe(its) != 0 || ::pipe(ours) != 0) return Status(StatusCode::kUnavailable, "no pipe");
  const pid_t pid = ::fork();
  if (pid == 0) Hold(tls, bytes, its[1], ours[0]);
  auto peer = std::make_unique<Peer>(pid, tls, its[0], ours[1]);
  for (const int end : {its[0], its[1], ours[0], ours[1]}) ::close(end);
  return std::unique_ptr<RawPeer>(std::move(peer));
}

}  // namespace glim::checkpoint::bench
