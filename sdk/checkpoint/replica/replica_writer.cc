// The Saver's side: one thread that sends what Start was given.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/replica/replica_client.h"
#include "sdk/net/socket.h"
#include "sdk/net/ucx/memory.h"

namespace glim::checkpoint {
namespace {

class ReplicaWriter final : public ReplicaSink {
 public:
  ReplicaWriter(ReplicaPeer peer, const net::SocketAddress& address, const ReplicaOptions& options)
      : peer_(std::move(peer)), address_(address), options_(options), thread_([this] { Work(); }) {}
  ~ReplicaWriter() override;

  void Register(std::span<const std::byte> memory) override;
  void Forget() override { Register({}); }
  void Start(CheckpointId id, std::span<const std::byte> image, std::string part_json) override;
  Result<ReplicaReport> Wait() override;

 private:
  struct Job {
    CheckpointId id;
    std::span<const std::byte> image;
    std::string part;
    std::chrono::steady_clock::time_point begin;
  };

  void Work();
  // Send, unless the service could not be reached just now.
  Result<ReplicaReport> Try(const Job& job);
  Result<ReplicaReport> Send(const Job& job);
  Status Connect();
  void Disconnect();
  Result<Grant> Reserve(const checkpoint::Reserve& request);
  Status Transfer(const Job& job, const Grant& grant);

  const ReplicaPeer peer_;
  const net::SocketAddress address_;
  ReplicaOptions options_;  // changes on the thread alone

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> job_;                       // to be sent, or being sent
  std::optional<Result<ReplicaReport>> result_;  // of the last one
  bool stop_ = false;
  std::span<const std::byte> memory_;  // what was registered; changes only while there is no job

  // The thread's alone, but for Register, which has seen that there is no job. Registrations go before their worker.
  std::shared_ptr<net::ucx::Worker> worker_;
  std::unique_ptr<net::ucx::Memory> registration_;
  std::unique_ptr<ReplicaClient> client_;
  std::optional<Status> unreachable_;  // why, the last time
  std::chrono::steady_clock::time_point try_again_at_;
  std::thread thread_;
};

ReplicaWriter::~ReplicaWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReplicaWriter::Register(std::span<const std::byte> memory) {
  const std::lock_guard lock(mutex_);
  GLIM_CHECK(!job_.has_value(), "no save is under way");
  memory_ = memory;
  registration_.reset();
}

void ReplicaWriter::Start(CheckpointId id, std::span<const std::byte> image, std::string part_json) {
  const std::lock_guard lock(mutex_);
  GLIM_CHECK(!job_.has_value(), "one save at a time");
  result_.reset();
  job_ = Job{id, image, std::move(part_json), std::chrono::steady_clock::now()};
  changed_.notify_all();
}

Result<ReplicaReport> ReplicaWriter::Wait() {
  std::unique_lock lock(mutex_);
  GLIM_CHECK(job_.has_value() || result_.has_value(), "Wait comes after Start");
  changed_.wait(lock, [this] { return result_.has_value(); });
  return *result_;
}

void ReplicaWriter::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || (job_.has_value() && !result_.has_value()); });
    if (!job_.has_value()) break;
    const Job& job = *job_;
    lock.unlock();
    Result<ReplicaReport> result = Try(job);
    if (!result.ok()) Disconnect();
    lock.lock();
    result_ = std::move(result);
    job_.reset();
    changed_.notify_all();
  }
}

// Verbs over which nothing came through are not tried again: each trial leaves a worker behind (net/ucx/endpoint.h).
void ReplicaWriter::Disconnect() {
  client_.reset();
  registration_.reset();
  if (worker_ && worker_->abandoned() && options_.ucx_tls == "all") options_.ucx_tls = "tcp";
  worker_.reset();
}

Status ReplicaWriter::Connect() {
  Disconnect();
  Result<std::shared_ptr<net::ucx::Worker>> worker = OpenWorkerFor(address_, options_);
  if (!worker.ok()) return worker.status();
  worker_ = *worker;
  Result<std::unique_ptr<ReplicaClient>> client = ReplicaClient::Connect(peer_, worker_, options_);
  if (!client.ok()) return client.status();
  client_ = std::move(client).value();
  return Status::Ok();
}

// A connection from the save before may have ended since (the service was restarted): once anew.
Result<Grant> ReplicaWriter::Reserve(const checkpoint::Reserve& request) {
  if (client_ != nullptr) {
    Result<Grant> grant = client_->Ask<Grant>(request);
    if (grant.ok() || client_->usable()) return grant;
  }
  if (Status connected = Connect(); !connected.ok()) return connected;
  return client_->Ask<Grant>(request);
}

Status ReplicaWriter::Transfer(const Job& job, const Grant& grant) {
  if (registration_ == nullptr && !memory_.empty()) {
    // Without it UCX registers what it sends itself, if it has to.
    Result<std::unique_ptr<net::ucx::Memory>> registered = net::ucx::Memory::Register(*worker_, memory_);
    if (registered.ok()) registration_ = std::move(registered).value();
  }
  const Result<ucp_rkey_h> key = client_->Unpack(grant.key);
  if (!key.ok()) return key.status();
  const auto part = std::as_bytes(std::span(job.part));
  if (Status status = client_->Put(job.image, grant.address, *key); !status.ok()) return status;
  if (Status status = client_->Put(part, grant.address + job.image.size(), *key); !status.ok()) return status;
  return client_->Flush();
}

Result<ReplicaReport> ReplicaWriter::Try(const Job& job) {
  if (unreachable_.has_value() && std::chrono::steady_clock::now() < try_again_at_) return *unreachable_;
  Result<ReplicaReport> result = Send(job);
  unreachable_.reset();
  const bool refused = client_ != nullptr && client_->usable();
  if (!result.ok() && !refused && result.status().code() == StatusCode::kUnavailable) {
    unreachable_ = result.status();
    try_again_at_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.pause.ms);
  }
  return result;
}

Result<ReplicaReport> ReplicaWriter::Send(const Job& job) {
  const checkpoint::Reserve request{{job.id.attempt, job.id.step, options_.rank},
                                    {options_.world, job.image.size(), job.part.size()}};
  const Result<Grant> grant = Reserve(request);
  if (!grant.ok()) return grant.status();
  if (Status sent = Transfer(job, *grant); !sent.ok()) return sent;
  const Result<Done> done = client_->Ask<Done>(Commit{Crc32c(std::as_bytes(std::span(job.part)))});
  if (!done.ok()) return done.status();
  const auto took = std::chrono::steady_clock::now() - job.begin;
  return ReplicaReport{peer_.address, job.image.size() + job.part.size(),
                       std::chrono::duration_cast<std::chrono::microseconds>(took).count()};
}

}  // namespace

Result<std::unique_ptr<ReplicaSink>> MakeReplicaWriter(const std::string& peer, const ReplicaOptions& options) {
  const Result<ReplicaPeer> parsed = ParsePeer(peer);
  if (!parsed.ok()) return parsed.status();
  const Result<net::SocketAddress> address = net::ParseAddress(parsed->address);
  if (!address.ok()) return address.status();
  if (Status checked = CheckReplicaOptions(options); !checked.ok()) return checked;
  if (options.attempt == 0) return InvalidArgument("attempt", "a writer is of an attempt");
  return std::unique_ptr<ReplicaSink>(std::make_unique<ReplicaWriter>(*parsed, *address, options));
}

}  // namespace glim::checkpoint
