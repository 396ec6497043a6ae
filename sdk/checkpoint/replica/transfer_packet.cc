#include "sdk/checkpoint/replica/transfer_packet.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sdk/net/socket.h"

namespace glim::checkpoint {
namespace {

constexpr std::size_t kHeadBytes = 3 * sizeof(std::uint64_t);

Status Ended(const char* what) {
  return {StatusCode::kUnavailable, std::string("the transfer process has ended") + what};
}

union Ancillary {
  cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
};

}  // namespace

Status SendPacket(int socket, const TransferPacket& packet) {
  const std::array<std::uint64_t, 3> head{static_cast<std::uint64_t>(packet.kind), packet.number, packet.bytes};
  std::string text = packet.text;
  iovec parts[] = {{const_cast<std::uint64_t*>(head.data()), kHeadBytes}, {text.data(), text.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  Ancillary ancillary{};
  if (packet.file) {
    message.msg_control = &ancillary;
    message.msg_controllen = sizeof ancillary;
    ancillary.header.cmsg_level = SOL_SOCKET;
    ancillary.header.cmsg_type = SCM_RIGHTS;
    ancillary.header.cmsg_len = CMSG_LEN(sizeof(int));
    const int descriptor = packet.file.get();
    std::memcpy(CMSG_DATA(&ancillary.header), &descriptor, sizeof descriptor);
  }
  const ssize_t n = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  return n < 0 ? Ended((": " + net::ErrnoText(errno)).c_str()) : Status::Ok();
}

Result<TransferPacket> ReceivePacket(int socket) {
  std::array<std::uint64_t, 3> head{};
  std::string text(kPacketTextBytesMax, '\0');
  iovec parts[] = {{head.data(), kHeadBytes}, {text.data(), text.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  Ancillary ancillary{};
  message.msg_control = &ancillary;
  message.msg_controllen = sizeof ancillary;
  const ssize_t n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (n < static_cast<ssize_t>(kHeadBytes)) return Ended("");
  TransferPacket packet;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    packet.file.Reset(descriptor);
  }
  packet.kind = static_cast<TransferPacket::Kind>(head[0]);
  packet.number = head[1];
  packet.bytes = head[2];
  text.resize(static_cast<std::size_t>(n) - kHeadBytes);
  packet.text = std::move(text);
  return packet;
}

}  // namespace glim::checkpoint
