// Connection: one client of the gateway: reads a request, has it answered, writes the answer, reads the next. One at a
// time: what a client sends ahead stays in its socket.
//
// Lives on a strand of its own, owned by what it waits for. Whoever is slow is let go: 10 s for a handshake with the
// first byte of a request, 10 s for a head, 60 s for a body or between two requests, 30 s without a byte taken of an
// answer.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "scheduler/gateway/holdings.h"
#include "scheduler/gateway/http_types.h"
#include "scheduler/gateway/stream_sink.h"
#include "scheduler/gateway/transport.h"

namespace glim::gateway {

struct ConnectionTimes {
  std::chrono::milliseconds head{10'000};
  std::chrono::milliseconds body{60'000};
  std::chrono::milliseconds idle{60'000};
  std::chrono::milliseconds write{30'000};
};

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  using Handle = std::function<void(HttpRequest, std::shared_ptr<Exchange>)>;

  static constexpr std::uint32_t kHeadBytesMax = std::uint32_t{16} << 10;
  static constexpr std::uint64_t kBodyBytesMax = std::uint64_t{16} << 20;

  // The connection has been counted in `holdings`, and counts there until its end. `peer` is as gRPC names it.
  Connection(std::unique_ptr<Transport> transport, std::string peer, bool secure, ConnectionTimes times,
             std::shared_ptr<Holdings> holdings, Handle handle);
  ~Connection();

  void Start();
  void Close();  // any thread
  // Between two requests, or before the first. Any thread.
  bool idle() const { return idle_.load(); }
  const std::string& peer() const { return peer_; }
  // Of those that are idle the least is the first to make room: who has never asked anything, then who has been idle
  // the longest. Any thread.
  std::pair<bool, std::int64_t> Rank() const { return {served_.load(), idle_since_.load()}; }

 private:
  class Pending;
  using Extension = boost::beast::string_view;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void ReadRequest();
  void ReadMore();
  void Parse();
  bool OnHead(std::string_view written);
  bool HoldBody(std::size_t bytes);
  void HandleRequest();
  void RefuseParse(const boost::system::error_code& error);
  void RefuseAndClose(const HttpAnswer& answer);
  void Send(HttpAnswer answer);
  void BeginStream(const HttpAnswer& head, std::shared_ptr<StreamSink> sink);
  void FeedStream();
  void WatchReader();
  void Put(std::shared_ptr<const std::string> piece);
  void WriteMore();
  void Written();
  void EndSoon();
  void Drain();
  void Within(std::chrono::milliseconds time);
  void TimeIsUp();
  void CloseNow();
  void ReleaseBytes();

  const std::unique_ptr<Transport> transport_;
  const boost::asio::any_io_executor strand_;
  const std::string peer_;
  const bool secure_;
  const ConnectionTimes times_;
  const std::shared_ptr<Holdings> holdings_;
  const Handle handle_;
  boost::asio::steady_timer timer_;
  std::uint64_t timer_turn_ = 0;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  // Of chunks: nobody needs them, and not everybody finds their end in the same place.
  std::function<void(std::uint64_t, Extension, boost::system::error_code&)> no_extensions_;
  bool head_seen_ = false;
  std::size_t headers_ = 0;
  bool head_only_ = false;  // the verb is HEAD
  bool keep_alive_ = false;
  bool closed_ = false;
  bool reading_ = false;
  bool answering_ = false;  // Send has been called for this request
  bool ending_ = false;     // EndSoon has been called
  bool writing_ = false;
  std::size_t held_ = 0;  // bytes in holdings_
  std::deque<std::shared_ptr<const std::string>> pieces_;
  std::size_t written_ = 0;  // of the first piece
  std::shared_ptr<StreamSink> stream_;
  std::size_t stream_bytes_ = 0;  // of the frame that is being written
  bool stream_over_ = false;
  char scrap_[256] = {};
  std::atomic<bool> idle_ = true;
  std::atomic<bool> served_ = false;          // a request has come
  std::atomic<std::int64_t> idle_since_ = 0;  // of a steady clock, in ns
};

}  // namespace glim::gateway
