// What the transports cost beside a bare TCP connection: the time of a small message there and back, and the rate of
// large ones one way, between two processes on this machine. Prints one line of JSON; each way is measured once a
// round, in turn, so that all see the same noise.
//
//   hfreduce-bench-transport [--congestion reno] [--rounds 9] [--tls tcp] [--devices rxe0:1,rxe1:1] [--messages 384]
//     [--pings 2000]          devices: of the two processes, the first and the second
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/hfreduce/transport/connect_transport.h"
#include "sdk/hfreduce/transport/ucx_transport.h"
#include "sdk/net/socket.h"

namespace glim::hfreduce {
namespace {

constexpr std::size_t kSmall = 1024;
constexpr std::size_t kLarge = std::size_t{1} << 20;
int pings_wanted = 2000;
int messages_wanted = 384;
constexpr int kBuffers = 4;  // as many as a stream has credits

using Clock = std::chrono::steady_clock;
using Memory = std::vector<std::byte>;

struct Figures {
  double latency_us = 0;
  double rate_gbps = 0;  // GB/s
};

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// --- a bare connection, blocking

void SetBlocking(const UniqueFd& socket, const std::string& congestion) {
  const int one = 1;
  ::fcntl(socket.get(), F_SETFL, 0);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (congestion.empty()) return;
  GLIM_CHECK(::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, congestion.data(),
                          static_cast<socklen_t>(congestion.size())) == 0,
             "congestion");
}

void SendAll(int socket, const std::byte* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::send(socket, data, bytes, MSG_NOSIGNAL);
    GLIM_CHECK(n > 0, "send");
    data += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void ReceiveAll(int socket, std::byte* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::recv(socket, data, bytes, 0);
    GLIM_CHECK(n > 0, "recv");
    data += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void EchoRaw(int socket, Memory& memory) {
  for (int i = 0; i < pings_wanted; ++i) {
    ReceiveAll(socket, memory.data(), kSmall);
    SendAll(socket, memory.data(), kSmall);
  }
  for (int i = 0; i < messages_wanted; ++i) ReceiveAll(socket, memory.data() + (i % kBuffers) * kLarge, kLarge);
  SendAll(socket, memory.data(), 1);
}

Figures DriveRaw(int socket, Memory& memory) {
  std::vector<double> pings;
  for (int i = 0; i < pings_wanted; ++i) {
    const auto begin = Clock::now();
    SendAll(socket, memory.data(), kSmall);
    ReceiveAll(socket, memory.data(), kSmall);
    pings.push_back(Seconds(Clock::now() - begin) * 1e6);
  }
  std::nth_element(pings.begin(), pings.begin() + pings_wanted / 2, pings.end());
  const auto begin = Clock::now();
  for (int i = 0; i < messages_wanted; ++i) SendAll(socket, memory.data() + (i % kBuffers) * kLarge, kLarge);
  ReceiveAll(socket, memory.data(), 1);
  return {pings[pings_wanted / 2], double(messages_wanted) * kLarge / Seconds(Clock::now() - begin) / 1e9};
}

Figures MeasureRaw(const std::string& congestion) {
  const net::SocketAddress any = net::ResolveAddress("127.0.0.1", 0).value();
  UniqueFd listener = net::Listen(any).value();
  const net::SocketAddress address = net::LocalAddress(listener.get()).value();
  const pid_t child = ::fork();
  Memory memory(kBuffers * kLarge, std::byte{1});
  if (child == 0) {
    UniqueFd socket = net::StartConnect(address).value();
    SetBlocking(socket, congestion);
    EchoRaw(socket.get(), memory);
    std::_Exit(0);
  }
  pollfd polled{listener.get(), POLLIN, 0};
  ::poll(&polled, 1, -1);
  UniqueFd socket = net::Accept(listener.get());
  SetBlocking(socket, congestion);
  const Figures figures = DriveRaw(socket.get(), memory);
  ::waitpid(child, nullptr, 0);
  return figures;
}

// --- a transport

class Side final : public Receiver {
 public:
  Side(Transport& transport, NodeIndex peer, std::chrono::microseconds spin)
      : memory_(kBuffers * kLarge, std::byte{1}), transport_(transport), peer_(peer), spin_(spin) {}

  std::byte* Landing(NodeIndex, const MessageHeader& header) override {
    return memory_.data() + (header.chunk % kBuffers) * kLarge;
  }
  void Received(NodeIndex, const MessageHeader&, std::span<const std::byte>, SlotId) override { ++received_; }
  void Sent(NodeIndex, const MessageHeader&) override {}
  void Failed(NodeIndex, const std::string& why) override { GLIM_CHECK(false, why); }

  void Send(Stream stream, std::uint32_t chunk, std::size_t bytes) {
    const MessageHeader header{1, 2, chunk, static_cast<std::uint32_t>(bytes), stream};
    Wait([&] { return transport_.TrySend(peer_, header, {memory_.data() + (chunk % kBuffers) * kLarge, bytes}); });
  }
  void Await(int received) {
    Wait([&] { return received_ >= received; });
  }

 private:
  // Looks for the given time before it sleeps.
  void Wait(const std::function<bool()>& done) {
    auto quiet_since = Clock::now();
    while (!done()) {
      if (transport_.Progress(*this)) {
        quiet_since = Clock::now();
      } else if (Clock::now() - quiet_since >= spin_ && transport_.Arm()) {
        pollfd polled{transport_.EventDescriptor(), POLLIN, 0};
        ::poll(&polled, 1, -1);
        quiet_since = Clock::now();
      } else {
        // The peer may be waiting for this very core.
        ::sched_yield();
      }
    }
  }

  Memory memory_;
  Transport& transport_;
  NodeIndex peer_;
  std::chrono::microseconds spin_;
  int received_ = 0;
};

void Echo(Side& side) {
  for (int i = 0; i < pings_wanted; ++i) {
    side.Await(i + 1);
    side.Send(Stream::kDirect, 0, kSmall);
  }
  side.Await(pings_wanted + messages_wanted);
  side.Send(Stream::kDirect, 0, 1);
}

Figures Drive(Side& side) {
  std::vector<double> pings;
  for (int i = 0; i < pings_wanted; ++i) {
    const auto begin = Clock::now();
    side.Send(Stream::kDirect, 0, kSmall);
    side.Await(i + 1);
    pings.push_back(Seconds(Clock::now() - begin) * 1e6);
  }
  std::nth_element(pings.begin(), pings.begin() + pings_wanted / 2, pings.end());
  const auto begin = Clock::now();
  for (int i = 0; i < messages_wanted; ++i) side.Send(Stream::kDown0, static_cast<std::uint32_t>(i), kLarge);
  side.Await(pings_wanted + 1);
  return {pings[pings_wanted / 2], double(messages_wanted) * kLarge / Seconds(Clock::now() - begin) / 1e9};
}

Figures MeasureTransport(const TransportOptions& options, std::chrono::microseconds spin) {
  // The child is forked before this process has the store's thread: the port goes through a pipe.
  int port_pipe[2];
  GLIM_CHECK(::pipe(port_pipe) == 0, "pipe");
  const pid_t child = ::fork();
  const NodeIndex self = child == 0 ? 1 : 0;
  const NodeIndex peers[] = {1 - self};
  std::uint16_t port = 0;
  if (child == 0) GLIM_CHECK(::read(port_pipe[0], &port, sizeof port) == sizeof port, "port");
  auto store = TcpStore::Create({.host = "127.0.0.1", .port = port, .serve = child != 0}).value().release();
  port = store->port();
  if (child != 0) GLIM_CHECK(::write(port_pipe[1], &port, sizeof port) == sizeof port, "port");
  ::close(port_pipe[0]);
  ::close(port_pipe[1]);
  const std::unique_ptr<TcpStore> owned(store);
  TransportOptions own = options;
  const std::string& devices = options.ucx_net_devices;
  const std::size_t comma = devices.find(',');
  if (comma != std::string::npos) {
    own.ucx_net_devices = self == 0 ? devices.substr(0, comma) : devices.substr(comma + 1);
  }
  auto made = ConnectTransport(own, self, peers, *store, glim::Seconds(60));
  GLIM_CHECK(made.ok(), made.status().message());
  Side side(**made, peers[0], spin);
  if (child == 0) {
    Echo(side);
    std::move(made).value().reset();
    std::_Exit(0);
  }
  const Figures figures = Drive(side);
  std::move(made).value().reset();
  ::waitpid(child, nullptr, 0);
  return figures;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Way {
  std::string name;
  std::function<Figures()> measure;
  std::vector<double> latency_us, rate_gbps, latency_ratio, rate_ratio;
};

int Run(const std::string& congestion, int rounds, const std::string& tls, const std::string& devices) {
  TransportOptions tcp;
  tcp.id = "bench";
  tcp.congestion = congestion;
  TransportOptions ucx = tcp;
  ucx.kind = TransportKind::kUcx;
  ucx.ucx_tls = tls;
  ucx.ucx_net_devices = devices;
  constexpr std::chrono::microseconds kAsleep(0), kSpin(50);
  std::vector<Way> ways;
  ways.push_back({"raw", [&] { return MeasureRaw(congestion); }, {}, {}, {}, {}});
  ways.push_back({"tcp_sleeping", [&] { return MeasureTransport(tcp, kAsleep); }, {}, {}, {}, {}});
  ways.push_back({"tcp_spin_50us", [&] { return MeasureTransport(tcp, kSpin); }, {}, {}, {}, {}});
  if (UcxIsBuilt()) {
    ways.push_back({"ucx_sleeping", [&] { return MeasureTransport(ucx, kAsleep); }, {}, {}, {}, {}});
    ways.push_back({"ucx_spin_50us", [&] { return MeasureTransport(ucx, kSpin); }, {}, {}, {}, {}});
  }
  for (int round = 0; round < rounds; ++round) {
    for (Way& way : ways) {
      const Figures figures = way.measure();
      way.latency_us.push_back(figures.latency_us);
      way.rate_gbps.push_back(figures.rate_gbps);
      way.latency_ratio.push_back(figures.latency_us / ways[0].latency_us.back());
      way.rate_ratio.push_back(figures.rate_gbps / ways[0].rate_gbps.back());
    }
  }
  std::printf("{\"congestion\":\"%s\",\"ucx_tls\":\"%s\",\"rounds\":%d,\"ping_bytes\":%zu,\"message_bytes\":%zu",
              congestion.c_str(), tls.c_str(), rounds, kSmall, kLarge);
  for (const Way& way : ways) {
    std::printf(",\"%s\":{\"ping_us\":%.1f,\"ping_vs_raw\":%.2f,\"GBps\":%.4f,\"GBps_vs_raw\":%.2f}", way.name.c_str(),
                Median(way.latency_us), Median(way.latency_ratio), Median(way.rate_gbps), Median(way.rate_ratio));
  }
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace glim::hfreduce

int main(int argc, char** argv) {
  std::string congestion;
  std::string tls = "tcp";
  std::string devices;
  int rounds = 9;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--congestion") congestion = argv[i + 1];
    if (name == "--tls") tls = argv[i + 1];
    if (name == "--devices") devices = argv[i + 1];
    if (name == "--messages") glim::hfreduce::messages_wanted = std::max(1, std::atoi(argv[i + 1]));
    if (name == "--pings") glim::hfreduce::pings_wanted = std::max(1, std::atoi(argv[i + 1]));
    if (name == "--rounds") rounds = std::max(1, std::atoi(argv[i + 1]));
  }
  return glim::hfreduce::Run(congestion, rounds, tls, devices);
}
