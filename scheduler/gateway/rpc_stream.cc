#include "scheduler/gateway/rpc_stream.h"

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <mutex>
#include <utility>

#include "glim/v1/client_api.pb.h"
#include "scheduler/gateway/answers.h"
#include "scheduler/gateway/request_fields.h"
#include "scheduler/gateway/stream_sink.h"

namespace glim::gateway {
namespace {

constexpr std::chrono::seconds kSilence{1};  // refusals come at once

// One RPC and one body. Held by the callbacks of both.
class Relay final : public std::enable_shared_from_this<Relay> {
 public:
  Relay(Form form, bool head_only, std::shared_ptr<Exchange> exchange, const boost::asio::any_io_executor& executor)
      : form_(form), head_only_(head_only), exchange_(std::move(exchange)), silence_(executor) {}

  void Start(Backend* backend, const Route& route, const Credentials& who, const google::protobuf::Message& request) {
    silence_.expires_after(kSilence);
    silence_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->Begin();
    });
    auto stream = backend->Open(route.method, who, request, NewMessage(route.rpc->output_type()),
                                [self = shared_from_this()](const google::protobuf::Message* message,
                                                            const Status& end) { self->Told(message, end); });
    if (!stream) return Ended({StatusCode::kUnavailable, "the scheduler is stopping"});
    const std::lock_guard lock(mutex_);
    if (!over_) stream_ = std::move(stream);
    if (gone_ && stream_) stream_->Cancel();
  }

 private:
  // The body, once; null: the exchange has had its answer. `first`: what it begins with, if that is known.
  std::shared_ptr<StreamSink> Begin(const google::protobuf::Message* first = nullptr) {
    std::shared_ptr<Exchange> exchange;
    {
      const std::lock_guard lock(mutex_);
      if (sink_ || !exchange_) return sink_;
      exchange.swap(exchange_);
    }
    HttpAnswer head;
    head.content_type = form_ == v1::Http::LOG ? "text/plain; charset=utf-8" : "application/x-ndjson";
    head.headers.emplace_back("X-Accel-Buffering", "no");
    if (form_ == v1::Http::LOG && first) AddPlaces(static_cast<const v1::StreamLogResponse&>(*first), &head);
    if (head_only_) {
      exchange->Answer(std::move(head));
      Gone();
      return nullptr;
    }
    auto sink = std::make_shared<StreamSink>();
    exchange->Stream(std::move(head), sink);
    {
      const std::lock_guard lock(mutex_);
      sink_ = sink;
    }
    sink->OnClosed([self = shared_from_this()] { self->Gone(); });
    return sink;
  }

  void Gone() {
    std::shared_ptr<ReadStream> stream;
    {
      const std::lock_guard lock(mutex_);
      gone_ = true;
      stream = stream_;
    }
    if (stream) stream->Cancel();
    Resume();
  }

  void Told(const google::protobuf::Message* message, const Status& end) {
    if (message == nullptr) return Ended(end);
    const auto sink = Begin(message);
    const std::string text = form_ == v1::Http::LOG ? static_cast<const v1::StreamLogResponse*>(message)->data()
                                                    : LinesOf(static_cast<const v1::StreamEventsResponse&>(*message));
    {
      const std::lock_guard lock(mutex_);
      waits_ = true;
    }
    if (!sink || !sink->Write(std::make_shared<const std::string>(text))) return Resume();
    sink->OnDrained([self = shared_from_this()] { self->Resume(); });
  }

  // Asks for the next message, once for each.
  void Resume() {
    std::shared_ptr<ReadStream> stream;
    {
      const std::lock_guard lock(mutex_);
      if (!waits_ || over_) return;
      if (!stream_) return;  // Start is not through; it cannot have been told of anything else
      waits_ = false;
      stream = stream_;
    }
    stream->Next();
  }

  void Ended(const Status& end) {
    silence_.cancel();
    std::shared_ptr<Exchange> exchange;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      stream_.reset();
      if (!end.ok()) exchange.swap(exchange_);
    }
    if (exchange) return exchange->Answer(ErrorAnswer(end));
    const auto sink = Begin();
    if (!sink) return;
    if (end.ok()) return sink->Close();
    if (form_ == v1::Http::LOG) return sink->Abort();
    sink->Write(ErrorAnswer(end).body);
    sink->Close();
  }

  // What the bytes alone do not say.
  static void AddPlaces(const v1::StreamLogResponse& first, HttpAnswer* head) {
    const auto add = [head](const char* name, const std::string& value) { head->headers.emplace_back(name, value); };
    add("Glim-Log-Attempt", std::to_string(first.attempt()));
    add("Glim-Log-Offset", std::to_string(first.offset()));
    if (first.log_end() > 0) {
      add("Glim-Log-Begin", std::to_string(first.log_begin()));
      add("Glim-Log-End", std::to_string(first.log_end()));
    }
    if (!first.kept_of_node().empty()) add("Glim-Log-Kept-Of", first.kept_of_node());
  }

  static std::string LinesOf(const v1::StreamEventsResponse& response) {
    std::string lines;
    for (const v1::Event& event : response.events()) lines += DumpDocument(Document(event));
    return lines;
  }

  const Form form_;
  const bool head_only_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<StreamSink> sink_;
  std::shared_ptr<ReadStream> stream_;
  bool waits_ = false;  // a message was told, and the next one is not asked for
  bool gone_ = false;   // nobody reads any more
  bool over_ = false;
  boost::asio::steady_timer silence_;  // begun before there are other threads, and cancelled by the last
};

}  // namespace

void RelayStream(Backend* backend, const Route& route, const Credentials& who, const google::protobuf::Message& request,
                 bool head_only, std::shared_ptr<Exchange> exchange, const boost::asio::any_io_executor& executor) {
  std::make_shared<Relay>(route.form, head_only, std::move(exchange), executor)->Start(backend, route, who, request);
}

}  // namespace glim::gateway
