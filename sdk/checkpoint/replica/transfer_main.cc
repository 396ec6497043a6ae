// The process behind one connection: UCX's worker, the endpoint of the client, and the job's copies that it has mapped.
#include <poll.h>
#include <sys/mman.h>

#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "sdk/checkpoint/replica/confinement.h"
#include "sdk/checkpoint/replica/transfer.h"
#include "sdk/checkpoint/replica/transfer_packet.h"
#include "sdk/net/socket.h"
#include "sdk/net/ucx/endpoint.h"
#include "sdk/net/ucx/memory.h"

namespace glim::checkpoint {
namespace {

constexpr int kProgressAtOnce = 64;

class Mapping {
 public:
  explicit Mapping(std::span<std::byte> bytes) : bytes_(bytes) {}
  ~Mapping() {
    registered_.reset();
    ::munmap(bytes_.data(), bytes_.size());
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  Status Register(net::ucx::Worker& worker) {
    Result<std::unique_ptr<net::ucx::Memory>> registered = net::ucx::Memory::Register(worker, bytes_);
    if (!registered.ok()) return registered.status();
    registered_ = std::move(registered).value();
    return Status::Ok();
  }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes_.data()); }
  const std::string& key() const { return registered_->key(); }

 private:
  std::span<std::byte> bytes_;
  std::unique_ptr<net::ucx::Memory> registered_;
};

class Process {
 public:
  Process(int socket, std::unique_ptr<net::ucx::Worker> worker) : socket_(socket), worker_(std::move(worker)) {}

  void Run() {
    for (;;) {
      int progressed = 0;
      while (progressed < kProgressAtOnce && worker_->Progress()) ++progressed;
      pollfd waiting[] = {{socket_, POLLIN, 0}, {worker_->event_descriptor(), POLLIN, 0}};
      const bool busy = progressed == kProgressAtOnce;
      if (!busy && !worker_->Arm()) continue;
      const int timeout = busy ? 0 : -1;
      if (::poll(waiting, 2, timeout) < 0 && errno != EINTR) return;
      if (waiting[0].revents == 0) continue;
      Result<TransferPacket> request = ReceivePacket(socket_);
      if (!request.ok()) return;
      if (request->kind == TransferPacket::Kind::kForget) {
        mappings_.erase(request->number);
        continue;
      }
      TransferPacket answer;
      const Status status =
          request->kind == TransferPacket::Kind::kConnect ? Connect(*request, answer) : Map(*request, answer);
      if (!status.ok()) answer = {TransferPacket::Kind::kFailed, 0, 0, status.message(), {}};
      if (!SendPacket(socket_, answer).ok()) return;
    }
  }

 private:
  Status Connect(const TransferPacket& request, TransferPacket& answer) {
    Result<std::unique_ptr<net::ucx::Endpoint>> endpoint = net::ucx::Endpoint::Open(*worker_, request.text);
    if (!endpoint.ok()) return endpoint.status();
    endpoint_ = std::move(endpoint).value();
    answer.text = worker_->address();
    return Status::Ok();
  }

  Status Map(const TransferPacket& request, TransferPacket& answer) {
    std::unique_ptr<Mapping>& mapping = mappings_[request.number];
    if (mapping == nullptr) {
      void* memory = ::mmap(nullptr, request.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, request.file.get(), 0);
      if (memory == MAP_FAILED) {
        mappings_.erase(request.number);
        return {StatusCode::kResourceExhausted, "a copy's memory cannot be mapped: " + net::ErrnoText(errno)};
      }
      mapping = std::make_unique<Mapping>(std::span(static_cast<std::byte*>(memory), request.bytes));
      if (Status registered = mapping->Register(*worker_); !registered.ok()) {
        mappings_.erase(request.number);
        return {registered.code(),
                "a copy's memory cannot be registered (raise RLIMIT_MEMLOCK): " + registered.message()};
      }
    }
    answer.number = mapping->address();
    answer.text = mapping->key();
    return Status::Ok();
  }

  const int socket_;
  const std::unique_ptr<net::ucx::Worker> worker_;
  std::map<std::uint64_t, std::unique_ptr<Mapping>> mappings_;  // by the region's number
  std::unique_ptr<net::ucx::Endpoint> endpoint_;
};

}  // namespace

int RunTransfer(int descriptor, const net::ucx::WorkerOptions& options) {
  Result<std::unique_ptr<net::ucx::Worker>> worker = net::ucx::Worker::Open(options);
  if (!worker.ok()) {
    const Result<TransferPacket> request = ReceivePacket(descriptor);
    if (request.ok()) {
      (void)SendPacket(descriptor, {TransferPacket::Kind::kFailed, 0, 0, worker.status().message(), {}});
    }
    return 1;
  }
  if (!ConfineTransfer((*worker)->may_use_verbs() ? Files::kThose : Files::kNone).ok()) return 1;
  Process(descriptor, std::move(worker).value()).Run();
  return 0;
}

}  // namespace glim::checkpoint
