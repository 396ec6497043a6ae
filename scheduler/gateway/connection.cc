#include "scheduler/gateway/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cctype>
#include <cstdio>
#include <utility>

#include "scheduler/gateway/answers.h"
#include "scheduler/gateway/framing.h"
#include "scheduler/gateway/head.h"

namespace glim::gateway {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kReadBytes = std::size_t{16} << 10;
constexpr std::size_t kWriteBytes = std::size_t{256} << 10;
constexpr std::size_t kSmallBody = std::size_t{16} << 10;  // goes with the head
constexpr std::chrono::milliseconds kLinger{2'000};

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string_view ViewOf(boost::beast::string_view text) { return {text.data(), text.size()}; }

HttpAnswer TooMuchHeld() {
  return ErrorAnswer(503, "OVERLOADED", "too many bytes of this address are on their way",
                     "read the answers, and ask again in 10 s");
}

// "1f\r\n"
std::shared_ptr<const std::string> ChunkHead(std::size_t bytes) {
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%zx\r\n", bytes);
  return std::make_shared<const std::string>(text, static_cast<std::size_t>(length));
}

}  // namespace

// What the handler holds of a request; without an answer of the handler's it is an error.
class Connection::Pending final : public Exchange {
 public:
  explicit Pending(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~Pending() override {
    if (connection_) Answer(ErrorAnswer(500, "INTERNAL", "the request got no answer", "look into the scheduler's log"));
  }

  void Answer(HttpAnswer answer) override {
    const auto connection = std::exchange(connection_, nullptr);
    if (!connection) return;
    boost::asio::post(connection->strand_,
                      [connection, answer = std::move(answer)]() mutable { connection->Send(std::move(answer)); });
  }

  void Stream(HttpAnswer head, std::shared_ptr<StreamSink> sink) override {
    const auto connection = std::exchange(connection_, nullptr);
    if (!connection) return sink->ConnectionClosed();
    sink->Attach([connection] { boost::asio::post(connection->strand_, [connection] { connection->FeedStream(); }); });
    boost::asio::post(connection->strand_, [connection, head = std::move(head), sink = std::move(sink)] {
      connection->BeginStream(head, sink);
    });
  }

 private:
  std::shared_ptr<Connection> connection_;
};

Connection::Connection(std::unique_ptr<Transport> transport, std::string peer, bool secure, ConnectionTimes times,
                       std::shared_ptr<Holdings> holdings, Handle handle)
    : transport_(std::move(transport)),
      strand_(transport_->socket().get_executor()),
      peer_(std::move(peer)),
      secure_(secure),
      times_(times),
      holdings_(std::move(holdings)),
      handle_(std::move(handle)),
      timer_(strand_),
      buffer_(std::size_t{2} * kHeadBytesMax),
      no_extensions_([](std::uint64_t, Extension extension, boost::system::error_code& error) {
        if (!extension.empty()) error = http::error::bad_chunk_extension;
      }) {}

Connection::~Connection() {
  ReleaseBytes();
  holdings_->End(peer_);
}

void Connection::Start() {
  idle_since_ = std::chrono::steady_clock::now().time_since_epoch().count();
  Within(times_.head);
  transport_->Handshake([self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
    if (error || self->closed_) return self->CloseNow();
    self->ReadRequest();
  });
}

void Connection::Close() {
  idle_ = false;  // nobody has to hang up on it twice
  boost::asio::post(strand_, [self = shared_from_this()] { self->CloseNow(); });
}

void Connection::ReadRequest() {
  parser_.emplace();
  parser_->header_limit(kHeadBytesMax);
  parser_->body_limit(kBodyBytesMax);
  parser_->eager(false);
  parser_->on_chunk_header(no_extensions_);
  head_seen_ = false;
  answering_ = false;
  idle_since_ = std::chrono::steady_clock::now().time_since_epoch().count();
  idle_ = true;
  if (served_) Within(times_.idle);  // else what a handshake may take goes on
  buffer_.size() > 0 ? Parse() : ReadMore();
}

void Connection::ReadMore() {
  const std::size_t room = std::min(kReadBytes, buffer_.max_size() - buffer_.size());
  if (room == 0) return RefuseParse(http::error::header_limit);
  reading_ = true;
  transport_->ReadSome(buffer_.prepare(room),
                       [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
                         self->reading_ = false;
                         if (error || self->closed_) return self->CloseNow();
                         if (self->answering_)
                           return self->ending_ ? self->Drain() : void();  // it was refused meanwhile
                         if (self->idle_.exchange(false)) self->Within(self->times_.head);
                         self->buffer_.commit(bytes);
                         self->Parse();
                       });
}

void Connection::Parse() {
  idle_ = false;
  served_ = true;
  bool moved = true;
  while (moved && !parser_->is_done()) {
    moved = false;
    std::string_view written;
    if (buffer_.size() > 0) {
      boost::system::error_code error;
      const std::size_t used = parser_->put(buffer_.data(), error);
      written = {static_cast<const char*>(buffer_.data().data()), used};
      buffer_.consume(used);
      if (error && error != http::error::need_more) return RefuseParse(error);
      moved = used > 0 && buffer_.size() > 0;
      // In chunks it grows until it is there.
      if (head_seen_ && !HoldBody(parser_->get().body().size())) return RefuseAndClose(TooMuchHeld());
    }
    if (parser_->is_header_done() && !head_seen_) {
      head_seen_ = true;
      if (!OnHead(written)) return;
      parser_->eager(true);
      moved = buffer_.size() > 0;
    }
  }
  parser_->is_done() ? HandleRequest() : ReadMore();
}

// The head is there: whether its body may come. False: it was refused.
bool Connection::OnHead(std::string_view written) {
  const auto& head = parser_->get();
  head_only_ = head.method() == http::verb::head;
  keep_alive_ = parser_->keep_alive();
  headers_ = static_cast<std::size_t>(std::distance(head.begin(), head.end()));
  HttpAnswer refusal = RefusalOfHead(head, written);
  if (refusal.status == 200) {
    const auto length = parser_->content_length();
    if (!HoldBody(length ? static_cast<std::size_t>(*length) : 0)) refusal = TooMuchHeld();
  }
  if (refusal.status != 200) {
    RefuseAndClose(refusal);
    return false;
  }
  if (parser_->is_done()) return true;
  Within(times_.body);
  if (boost::beast::iequals(head[http::field::expect], "100-continue")) {
    Put(std::make_shared<const std::string>("HTTP/1.1 100 Continue\r\n\r\n"));
    WriteMore();
  }
  return true;
}

// So many bytes of a body, of which some may be counted already.
bool Connection::HoldBody(std::size_t bytes) {
  if (bytes <= held_) return true;
  if (!holdings_->Hold(peer_, bytes - held_)) return false;
  held_ = bytes;
  return true;
}

void Connection::HandleRequest() {
  Within(std::chrono::milliseconds(0));  // the call has a time of its own
  auto message = parser_->release();
  if (static_cast<std::size_t>(std::distance(message.begin(), message.end())) != headers_) {
    return RefuseAndClose(RefusalOfTrailer());
  }
  HttpRequest request;
  request.verb = std::string(message.method_string());
  request.peer = peer_;
  request.secure = secure_;
  for (const auto& header : message) {
    request.headers.emplace_back(Lower(ViewOf(header.name_string())), std::string(header.value()));
  }
  request.body = std::move(message.body());
  if (!ParseTarget(ViewOf(message.target()), &request.path, &request.query)) {
    return RefuseAndClose(ErrorAnswer(400, "BAD_TARGET", "the address does not read", "encode what is no letter"));
  }
  handle_(std::move(request), std::make_shared<Pending>(shared_from_this()));
}

void Connection::RefuseParse(const boost::system::error_code& error) {
  if (error == http::error::header_limit) {
    return RefuseAndClose(ErrorAnswer(431, "HEADERS_TOO_LARGE", "the head is larger than 16 KiB", "send less"));
  }
  if (error == http::error::body_limit) {
    return RefuseAndClose(ErrorAnswer(413, "BODY_TOO_LARGE", "the body is larger than 16 MiB", "send less at a time"));
  }
  RefuseAndClose(ErrorAnswer(400, "BAD_HTTP", "this is no HTTP/1.1: " + error.message(), "see docs/http.md"));
}

void Connection::RefuseAndClose(const HttpAnswer& answer) {
  keep_alive_ = false;
  Send(answer);
}

void Connection::Send(HttpAnswer answer) {
  if (closed_ || ending_) return;
  answering_ = true;
  ReleaseBytes();
  std::size_t bytes = answer.body ? answer.body->size() : 0;
  if (bytes > kSmallBody && !holdings_->Hold(peer_, bytes)) {
    answer = TooMuchHeld();
    bytes = answer.body->size();
  } else if (bytes > kSmallBody) {
    held_ = bytes;
  }
  std::optional<std::size_t> length;
  if (answer.status != 304 && answer.status != 204) length = bytes;
  std::string head = HeadOf(answer, length, {secure_, keep_alive_, false});
  const bool with_body = answer.body && !head_only_;
  const bool small = with_body && bytes <= kSmallBody;
  if (small) head += *answer.body;
  Put(std::make_shared<const std::string>(std::move(head)));
  if (with_body && !small) Put(answer.body);
  WriteMore();
}

void Connection::BeginStream(const HttpAnswer& head, std::shared_ptr<StreamSink> sink) {
  if (closed_) return sink->ConnectionClosed();
  ReleaseBytes();
  keep_alive_ = false;
  stream_ = std::move(sink);
  Put(std::make_shared<const std::string>(HeadOf(head, std::nullopt, {secure_, false, true})));
  WatchReader();
  WriteMore();
}

// Nothing more is expected from the reader of a stream: what comes is thrown away, and its end is the stream's.
void Connection::WatchReader() {
  transport_->ReadSome(boost::asio::buffer(scrap_),
                       [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                         if (self->closed_) return;
                         if (error) return self->CloseNow();
                         self->WatchReader();
                       });
}

void Connection::FeedStream() {
  if (!closed_ && stream_ && !writing_ && !stream_over_) Written();
}

void Connection::Put(std::shared_ptr<const std::string> piece) {
  if (!piece->empty()) pieces_.push_back(std::move(piece));
}

void Connection::WriteMore() {
  if (closed_ || writing_) return;
  if (pieces_.empty()) return Written();
  writing_ = true;
  if (answering_ || stream_) Within(times_.write);
  const std::string& piece = *pieces_.front();
  const std::size_t bytes = std::min(kWriteBytes, piece.size() - written_);
  transport_->WriteSome(boost::asio::buffer(piece.data() + written_, bytes),
                        [self = shared_from_this()](const boost::system::error_code& error, std::size_t wrote) {
                          self->writing_ = false;
                          if (error || self->closed_) return self->CloseNow();
                          self->written_ += wrote;
                          if (self->written_ == self->pieces_.front()->size()) {
                            self->pieces_.pop_front();
                            self->written_ = 0;
                          }
                          self->WriteMore();
                        });
}

// All that was there is on its way.
void Connection::Written() {
  if (stream_) {
    if (stream_bytes_ > 0) stream_->Sent(std::exchange(stream_bytes_, 0));
    if (stream_over_) return EndSoon();
    const StreamSink::Taken taken = stream_->Take();
    if (taken.broken && !taken.frame) return CloseNow();
    if (taken.frame) {
      stream_bytes_ = taken.frame->size();
      Put(ChunkHead(stream_bytes_));
      Put(taken.frame);
      Put(std::make_shared<const std::string>("\r\n"));
      return WriteMore();
    }
    if (!taken.over) return Within(std::chrono::milliseconds(0));
    stream_over_ = true;
    Put(std::make_shared<const std::string>("0\r\n\r\n"));
    return WriteMore();
  }
  if (ending_ || !answering_) return;  // not answering: that was "100 Continue"
  ReleaseBytes();
  if (!keep_alive_) return EndSoon();
  ReadRequest();
}

// What was written is read before the connection goes, also where more was sent than was wanted.
void Connection::EndSoon() {
  if (std::exchange(ending_, true)) return;
  transport_->EndWriting();
  Within(kLinger);
  if (!stream_ && !reading_) Drain();  // else somebody reads already
}

void Connection::Drain() {
  transport_->ReadSome(boost::asio::buffer(scrap_),
                       [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                         if (self->closed_) return;
                         if (error) return self->CloseNow();
                         self->Drain();
                       });
}

void Connection::Within(std::chrono::milliseconds time) {
  const std::uint64_t turn = ++timer_turn_;
  timer_.cancel();
  if (time.count() == 0) return;
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this(), turn](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self && self->timer_turn_ == turn) self->TimeIsUp();
  });
}

void Connection::TimeIsUp() {
  const bool half_a_request = parser_ && !idle_ && !parser_->is_done() && !answering_ && !stream_;
  if (!half_a_request) return CloseNow();
  RefuseAndClose(ErrorAnswer(408, "TOO_SLOW", "the request did not come within its time", "send it at once"));
}

void Connection::CloseNow() {
  if (std::exchange(closed_, true)) return;
  ++timer_turn_;
  timer_.cancel();
  transport_->Close();
  if (stream_) stream_->ConnectionClosed();
  ReleaseBytes();
}

void Connection::ReleaseBytes() {
  if (held_ > 0) holdings_->Release(peer_, std::exchange(held_, 0));
}

}  // namespace glim::gateway
