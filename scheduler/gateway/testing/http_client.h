// A client of the HTTP port for tests: blocking, each wait with a bound. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/json/message_json.h"

namespace glim::gateway {

struct HttpReply {
  int status = 0;                              // 0: the connection ended before there was an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  proto::Json Json() const;
  std::string Reason() const;  // of an error's document
};

using TestHeaders = std::vector<std::pair<std::string, std::string>>;

class HttpClient {
 public:
  // `authorities` (PEM) empty: plaintext.
  HttpClient(int port, const std::string& authorities);

  bool connected() const { return connected_; }
  void Send(const std::string& bytes);
  // What the server sent next, as much as is there; empty: it has hung up.
  std::string ReadSome();
  HttpReply ReadReply(bool head = false);
  HttpReply Ask(const std::string& verb, const std::string& target, const TestHeaders& headers = {},
                const std::string& body = "");
  void HangUp() { plain_.close(); }
  // Nothing is read any more, and the kernel may hold as little as it does.
  void HoldLittle();

 private:
  template <typename Work>
  bool Run(Work work);

  boost::asio::io_context io_;
  boost::asio::ssl::context tls_{boost::asio::ssl::context::tls_client};
  boost::asio::ip::tcp::socket plain_{io_};
  std::unique_ptr<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> secure_;
  bool connected_ = false;
  std::string read_;  // and not asked for yet
};

// The text of a request.
std::string RequestText(const std::string& verb, const std::string& target, const TestHeaders& headers = {},
                        const std::string& body = "");

}  // namespace glim::gateway
