// One connection to a replica service: its control messages and one-sided transfers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "sdk/base/result.h"
#include "sdk/checkpoint/replica/control_stream.h"
#include "sdk/checkpoint/replica/replica.h"
#include "sdk/checkpoint/replica/service_address.h"
#include "sdk/net/address.h"
#include "sdk/net/deadline.h"
#include "sdk/net/ucx/endpoint.h"
#include "sdk/net/ucx/worker.h"

namespace glim::checkpoint {

// INVALID_ARGUMENT names the option.
Status CheckReplicaOptions(const ReplicaOptions& options);

// With the devices that suit the peer.
Result<std::shared_ptr<net::ucx::Worker>> OpenWorkerFor(const net::SocketAddress& peer, const ReplicaOptions& options);

// One thread at a time; blocks, each wait at most options.timeout without progress. After any error but a refusal it is
// of no more use. When it has gone, nothing reads or writes memory that was given to it.
class ReplicaClient {
 public:
  // Connects, and both sides show who they are.
  static Result<std::unique_ptr<ReplicaClient>> Connect(const ReplicaPeer& peer,
                                                        std::shared_ptr<net::ucx::Worker> worker,
                                                        const ReplicaOptions& options);
  ~ReplicaClient();

  const std::string& peer() const { return peer_.address; }
  std::uint64_t instance() const { return instance_; }
  bool usable() const { return usable_; }

  // Sends and awaits the answer: of type T, or the refusal's Status.
  template <typename T>
  Result<T> Ask(const ControlMessage& request) {
    Result<ControlMessage> answer = AskAny(request);
    if (!answer.ok()) return answer.status();
    if (T* wanted = std::get_if<T>(&*answer)) return std::move(*wanted);
    return Unexpected();
  }

  // What Grant and Opened carry; kept for the next time.
  Result<ucp_rkey_h> Unpack(const std::string& key);

  // Blocks are started and waited for in order. Put has begun to send; Flush: all that was put is in the peer's memory.
  Status Put(std::span<const std::byte> from, std::uint64_t to, ucp_rkey_h key);
  Status Flush();
  Status StartGet(std::span<std::byte> into, std::uint64_t from, ucp_rkey_h key);
  // Until at most `left` transfers are under way.
  Status Settle(std::size_t left);
  std::size_t under_way() const { return under_way_.size(); }

 private:
  ReplicaClient(ReplicaPeer peer, std::shared_ptr<net::ucx::Worker> worker, const ReplicaOptions& options,
                UniqueFd socket);
  Status AwaitConnected();
  Status Handshake();
  Result<ControlMessage> AskAny(const ControlMessage& request);
  Status Unexpected();
  Status Broken(const Status& status);
  Status Started(ucs_status_ptr_t request, const char* what);
  // Something may have come. `deadline` passed: UNAVAILABLE.
  Status Await(const net::Deadline& deadline, const char* what);
  Status LookAtControl();

  const ReplicaPeer peer_;
  ReplicaOptions options_;
  std::shared_ptr<net::ucx::Worker> worker_;
  ControlStream stream_;
  std::unique_ptr<net::ucx::Endpoint> endpoint_;
  std::map<std::string, ucp_rkey_h> keys_;
  std::deque<ucs_status_ptr_t> under_way_;
  std::uint64_t instance_ = 0;
  bool usable_ = true;
  bool control_is_readable_ = false;  // as of the last sleep: a look each time would cost as much as a transfer
};

}  // namespace glim::checkpoint
