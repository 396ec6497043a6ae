#include "sdk/checkpoint/replica/transfer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "sdk/checkpoint/replica/transfer_packet.h"
#include "sdk/net/socket.h"

extern char** environ;  // what POSIX calls it

namespace glim::checkpoint {
namespace {

constexpr int kItsDescriptor = 3;  // of the process's end

}  // namespace

Result<std::unique_ptr<Transfer>> Transfer::Start(const std::string& program, const net::ucx::WorkerOptions& options) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Status(StatusCode::kUnavailable, "no socket pair: " + net::ErrnoText(errno));
  }
  UniqueFd ours(ends[0]);
  const UniqueFd its(ends[1]);
  const std::array<std::string, 10> arguments{program,
                                              "transfer",
                                              "--fd",
                                              std::to_string(kItsDescriptor),
                                              "--ucx-tls",
                                              options.tls,
                                              "--ucx-net-devices",
                                              options.net_devices,
                                              "--service-level",
                                              std::to_string(options.service_level)};
  std::array<char*, arguments.size() + 1> raw{};
  for (std::size_t i = 0; i < arguments.size(); ++i) raw[i] = const_cast<char*>(arguments[i].c_str());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // (Where both numbers are the same it still clears close-on-exec.)
  posix_spawn_file_actions_adddup2(&actions, its.get(), kItsDescriptor);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Status(StatusCode::kUnavailable, program + ": " + net::ErrnoText(error));
  return std::unique_ptr<Transfer>(new Transfer(pid, std::move(ours)));
}

Transfer::~Transfer() {
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status Transfer::Connect(const std::string& client_worker) {
  return SendPacket(socket_.get(), {TransferPacket::Kind::kConnect, 0, 0, client_worker, {}});
}

Status Transfer::Map(const Region& region) {
  UniqueFd file(::fcntl(region.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!file) return {StatusCode::kResourceExhausted, "no descriptor: " + net::ErrnoText(errno)};
  return SendPacket(socket_.get(), {TransferPacket::Kind::kMap, region.number(), region.bytes(), "", std::move(file)});
}

Status Transfer::Forget(std::uint64_t region) {
  return SendPacket(socket_.get(), {TransferPacket::Kind::kForget, region, 0, "", {}});
}

Result<TransferAnswer> Transfer::Receive() {
  Result<TransferPacket> packet = ReceivePacket(socket_.get());
  if (!packet.ok()) return packet.status();
  if (packet->kind == TransferPacket::Kind::kFailed) return Status(StatusCode::kResourceExhausted, packet->text);
  return TransferAnswer{packet->number, std::move(packet->text)};
}

}  // namespace glim::checkpoint
