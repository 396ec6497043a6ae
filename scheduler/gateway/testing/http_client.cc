#include "scheduler/gateway/testing/http_client.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <chrono>

#include "sdk/base/testing/waits.h"

namespace glim::gateway {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

}  // namespace

proto::Json HttpReply::Json() const { return proto::Json::parse(body, nullptr, false); }

std::string HttpReply::Reason() const {
  const proto::Json document = Json();
  if (!document.is_object() || !document.contains("error")) return "";
  return document["error"]["reason"].get<std::string>();
}

// Runs until the work has said that it is done; false: not within the bound.
template <typename Work>
bool HttpClient::Run(Work work) {
  bool done = false;
  work([&done] { done = true; });
  io_.restart();
  const auto end = std::chrono::steady_clock::now() + LongWait();
  while (!done && io_.run_one_until(end) > 0) {
  }
  return done;
}

HttpClient::HttpClient(int port, const std::string& authorities) {
  boost::system::error_code error;
  const tcp::endpoint there(boost::asio::ip::make_address("127.0.0.1"), static_cast<unsigned short>(port));
  plain_.connect(there, error);
  if (error) return;
  connected_ = true;
  if (authorities.empty()) return;
  tls_.add_certificate_authority(boost::asio::buffer(authorities));
  tls_.set_verify_mode(boost::asio::ssl::verify_peer);
  secure_ = std::make_unique<boost::asio::ssl::stream<tcp::socket&>>(plain_, tls_);
  connected_ = Run([&](auto done) {
                 secure_->async_handshake(boost::asio::ssl::stream_base::client,
                                          [&error, done](const boost::system::error_code& e) {
                                            error = e;
                                            done();
                                          });
               }) &&
               !error;
}

void HttpClient::Send(const std::string& bytes) {
  boost::system::error_code ignored;
  if (secure_) {
    boost::asio::write(*secure_, boost::asio::buffer(bytes), ignored);
  } else {
    boost::asio::write(plain_, boost::asio::buffer(bytes), ignored);
  }
}

std::string HttpClient::ReadSome() {
  if (!read_.empty()) return std::exchange(read_, {});
  std::string into(std::size_t{64} << 10, '\0');
  std::size_t got = 0;
  const bool came = Run([&](auto done) {
    const auto told = [&got, done](const boost::system::error_code&, std::size_t bytes) {
      got = bytes;
      done();
    };
    secure_ ? secure_->async_read_some(boost::asio::buffer(into), told)
            : plain_.async_read_some(boost::asio::buffer(into), told);
  });
  into.resize(came ? got : 0);
  return into;
}

HttpReply HttpClient::ReadReply(bool head) {
  http::response_parser<http::string_body> parser;
  parser.body_limit(std::uint64_t{1} << 30);
  parser.skip(head);
  parser.eager(true);
  std::string bytes;
  while (!parser.is_done()) {
    const std::string more = ReadSome();
    boost::system::error_code error;
    if (more.empty()) {
      if (!parser.is_header_done()) return {};
      parser.put_eof(error);
      break;
    }
    bytes += more;
    std::size_t used = 1;
    while (used > 0 && !bytes.empty() && !parser.is_done()) {
      used = parser.put(boost::asio::buffer(bytes), error);
      bytes.erase(0, used);
      if (error && error != http::error::need_more) return {};
    }
  }
  read_ = bytes;
  HttpReply reply;
  reply.status = static_cast<int>(parser.get().result_int());
  for (const auto& header : parser.get()) {
    std::string name(header.name_string());
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers[name] = std::string(header.value());
  }
  reply.body = parser.get().body();
  return reply;
}

std::string RequestText(const std::string& verb, const std::string& target, const TestHeaders& headers,
                        const std::string& body) {
  std::string text = verb + " " + target + " HTTP/1.1\r\n";
  bool has_host = false;
  for (const auto& [name, value] : headers) {
    text += name + ": " + value + "\r\n";
    has_host = has_host || name == "Host";
  }
  if (!has_host) text += "Host: 127.0.0.1\r\n";
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

HttpReply HttpClient::Ask(const std::string& verb, const std::string& target, const TestHeaders& headers,
                          const std::string& body) {
  Send(RequestText(verb, target, headers, body));
  return ReadReply(verb == "HEAD");
}

void HttpClient::HoldLittle() {
  boost::system::error_code ignored;
  plain_.set_option(boost::asio::socket_base::receive_buffer_size(4096), ignored);
}

}  // namespace glim::gateway
