// A webhook's receiver for tests: a real HTTP server on loopback in a thread of its own. It answers as it is told to,
// and keeps what it was asked.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/net/socket.h"

namespace glim::notify {

class HttpReceiver {
 public:
  struct Request {
    std::string head;  // with its lines' ends
    std::string body;
    // The value of a header; empty: it is not there.
    std::string Header(const std::string& name) const {
      const std::size_t at = head.find("\r\n" + name + ": ");
      if (at == std::string::npos) return "";
      const std::size_t begin = at + name.size() + 4;
      return head.substr(begin, head.find("\r\n", begin) - begin);
    }
  };

  HttpReceiver() {
    listener_ = std::move(net::Listen(*net::ResolveAddress("127.0.0.1", 0))).value();
    address_ = net::LocalAddress(listener_.get())->ToString();
    thread_ = std::thread([this] { Serve(); });
  }
  ~HttpReceiver() {
    stopping_ = true;
    thread_.join();
  }
  std::string url() const { return "http://" + address_ + "/hook"; }
  // Of the next requests, in this order; then 200. "hang": none at all.
  void Answer(const std::vector<std::string>& lines) {
    std::lock_guard lock(mutex_);
    answers_.insert(answers_.end(), lines.begin(), lines.end());
  }
  bool Await(std::size_t requests) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, LongWait(), [&] { return requests_.size() >= requests; });
  }
  std::vector<Request> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void Serve() {
    while (!stopping_) {
      if (!net::AwaitReady(listener_.get(), POLLIN, net::Deadline(Milliseconds(20)))) continue;
      const UniqueFd socket = net::Accept(listener_.get());
      if (socket) One(socket.get());
    }
  }
  void One(int socket) {
    std::string got;
    Request request;
    std::size_t length = 0;
    while (!stopping_) {
      if (!net::AwaitReady(socket, POLLIN, net::Deadline(Milliseconds(20)))) continue;
      char buffer[4096];
      const ssize_t bytes = ::recv(socket, buffer, sizeof buffer, 0);
      if (bytes <= 0) return;
      got.append(buffer, static_cast<std::size_t>(bytes));
      const std::size_t end = got.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      request.head = got.substr(0, end + 2);
      length = std::stoul(request.Header("Content-Length"));
      if (got.size() < end + 4 + length) continue;
      request.body = got.substr(end + 4);
      break;
    }
    std::string answer = "200 OK";
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(request);
      if (!answers_.empty()) {
        answer = answers_.front();
        answers_.pop_front();
      }
      changed_.notify_all();
    }
    if (answer == "hang") {
      while (!stopping_ && !net::AwaitReady(socket, POLLIN, net::Deadline(Milliseconds(20)))) continue;
      return;
    }
    const std::string text = "HTTP/1.1 " + answer + "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    (void)::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  }

  UniqueFd listener_;
  std::string address_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> answers_;
  std::vector<Request> requests_;
  std::thread thread_;
};

}  // namespace glim::notify
