// One client's transfers, in a process of their own.
//
// UCX ends the process that it is in when a peer of its tcp or shared memory goes away at a wrong moment (its emulation
// of puts and gets must answer, and takes a failure of that for fatal), and over tcp it writes wherever a peer says. So
// each connection has a process that has mapped its own job's copies and nothing else: what it dies of, or breaks, is
// that connection's alone. Killing it is also the sure way of ending what a client still has under way.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/replica/replica_table.h"
#include "sdk/net/socket.h"
#include "sdk/net/ucx/worker.h"

namespace glim::checkpoint {

// --- in the service

// What the process answers: for Connect its UCX address in `text`, for Map the memory's address and key.
struct TransferAnswer {
  std::uint64_t address = 0;
  std::string text;
};

// One thread. Killed and waited for at the end.
class Transfer {
 public:
  // Starts `program` with its arguments (RunTransfer). UNAVAILABLE.
  static Result<std::unique_ptr<Transfer>> Start(const std::string& program, const net::ucx::WorkerOptions& options);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Readable when there is an answer, or when the process has ended.
  int descriptor() const { return socket_.get(); }
  // Each but Forget is answered, in order; one at a time. UNAVAILABLE: the process has ended.
  Status Connect(const std::string& client_worker);
  Status Map(const Region& region);
  Status Forget(std::uint64_t region);
  // UNAVAILABLE: the process has ended; any other error is the answer to what was asked.
  Result<TransferAnswer> Receive();

 private:
  Transfer(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}

  pid_t pid_;
  UniqueFd socket_;
};

// --- in the process

// Serves until the service closes its end of `descriptor`. Returns the process's exit code.
int RunTransfer(int descriptor, const net::ucx::WorkerOptions& options);

}  // namespace glim::checkpoint
