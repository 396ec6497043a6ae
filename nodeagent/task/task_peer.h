// One connection to a task socket: lines in, lines out, both bounded. Lives as long as an operation of its is under
// way; after Close nothing more is called.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace glim::nodeagent {

class LinePeer : public std::enable_shared_from_this<LinePeer> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;

  explicit LinePeer(Socket socket);

  // `on_line` gets each line without its end; `on_closed` is called once, unless Close came first.
  void Start(std::function<void(std::string_view)> on_line, std::function<void()> on_closed);
  // Ends the connection unless Keep is called before `seconds` have gone by.
  void ExpectWithin(int seconds);
  void Keep();
  void Send(std::string line);  // without its end
  void Close();

  std::optional<std::uint32_t> rank;  // after hello

 private:
  void Read();
  void Split();
  void Write();
  void Fail();

  Socket socket_;
  boost::asio::steady_timer timer_;
  std::function<void(std::string_view)> on_line_;
  std::function<void()> on_closed_;
  std::string input_;
  std::string chunk_;
  std::deque<std::string> output_;
  std::size_t output_bytes_ = 0;
  bool closed_ = false;
};

}  // namespace glim::nodeagent
