#include "nodeagent/task/task_peer.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>

#include "nodeagent/task/task_message.h"

namespace glim::nodeagent {
namespace {

namespace asio = boost::asio;
constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kOutputBytesMax = 1024 * 1024;

}  // namespace

LinePeer::LinePeer(Socket socket)
    : socket_(std::move(socket)), timer_(socket_.get_executor()), chunk_(kReadBytes, '\0') {}

void LinePeer::Start(std::function<void(std::string_view)> on_line, std::function<void()> on_closed) {
  on_line_ = std::move(on_line);
  on_closed_ = std::move(on_closed);
  Read();
}

void LinePeer::ExpectWithin(int seconds) {
  timer_.expires_after(std::chrono::seconds(seconds));
  timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (!error) self->Fail();
  });
}

void LinePeer::Keep() { timer_.cancel(); }

void LinePeer::Read() {
  socket_.async_read_some(asio::buffer(chunk_),
                          [self = shared_from_this()](boost::system::error_code error, std::size_t n) {
                            if (self->closed_) return;
                            if (error) return self->Fail();
                            self->input_.append(self->chunk_, 0, n);
                            self->Split();
                            if (!self->closed_) self->Read();
                          });
}

void LinePeer::Split() {
  std::size_t begin = 0;
  for (std::size_t end = input_.find('\n'); end != std::string::npos && !closed_; end = input_.find('\n', begin)) {
    std::string_view line(input_.data() + begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) on_line_(line);
  }
  if (closed_) return;
  input_.erase(0, begin);
  // Nothing in it can be told apart any more, not even where the next message would begin.
  if (input_.size() > kTaskLineBytesMax) Fail();
}

void LinePeer::Send(std::string line) {
  if (closed_) return;
  line += '\n';
  output_bytes_ += line.size();
  output_.push_back(std::move(line));
  // It sends and never reads. Everything told is a level: it hears it again when it connects again.
  if (output_bytes_ > kOutputBytesMax) return Fail();
  if (output_.size() == 1) Write();
}

void LinePeer::Write() {
  asio::async_write(socket_, asio::buffer(output_.front()),
                    [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                      if (self->closed_) return;
                      if (error) return self->Fail();
                      self->output_bytes_ -= self->output_.front().size();
                      self->output_.pop_front();
                      if (!self->output_.empty()) self->Write();
                    });
}

void LinePeer::Fail() {
  if (closed_) return;
  const auto told = on_closed_;
  Close();
  told();
}

void LinePeer::Close() {
  closed_ = true;
  boost::system::error_code ignored;
  timer_.cancel();
  socket_.close(ignored);
}

}  // namespace glim::nodeagent
