// Any bytes as what a client sends on one connection of the HTTP port: the connection, its parser, the routes and the
// answers are the scheduler's own; what is behind them answers or refuses as the input's bytes say. The first byte says
// in which pieces the rest comes. What is sent back is HTTP, and each document of it reads.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glim/v1/client_api.pb.h"
#include "proto/json/message_json.h"
#include "scheduler/gateway/answers.h"
#include "scheduler/gateway/api.h"
#include "scheduler/gateway/connection.h"
#include "scheduler/gateway/holdings.h"
#include "tests/fuzz/holds.h"

namespace glim::gateway {
namespace {

using fuzz::Holds;
using google::protobuf::Message;
namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr std::size_t kAnswersMax = 200;
constexpr char kPeer[] = "ipv4:10.0.0.7";

// A client that has sent all of its bytes and hangs up behind them.
class SentBytes final : public Transport {
 public:
  struct Wire {
    std::string_view unread;
    std::size_t piece = 1;
    std::string written;
  };
  SentBytes(asio::io_context* io, Wire* wire) : socket_(*io), wire_(*wire) {}

  void Handshake(Handler done) override { Tell(std::move(done), {}, 0); }
  void ReadSome(asio::mutable_buffer into, Handler done) override {
    const std::size_t bytes = std::min({into.size(), wire_.piece, wire_.unread.size()});
    if (bytes > 0) std::memcpy(into.data(), wire_.unread.data(), bytes);
    wire_.unread.remove_prefix(bytes);
    Tell(std::move(done), bytes > 0 ? boost::system::error_code() : asio::error::eof, bytes);
  }
  void WriteSome(asio::const_buffer from, Handler done) override {
    wire_.written.append(static_cast<const char*>(from.data()), from.size());
    Tell(std::move(done), {}, from.size());
  }
  Tcp::socket& socket() override { return socket_; }

 private:
  void Tell(Handler done, const boost::system::error_code& error, std::size_t bytes) {
    asio::post(socket_.get_executor(), [done = std::move(done), error, bytes] { done(error, bytes); });
  }

  Tcp::socket socket_;  // never opened: who asks it to close has closed
  Wire& wire_;
};

// Answers in place of a scheduler: by what the request says.
class StandIn final : public Backend {
 public:
  StandIn() : Backend(nullptr, {}) {}

  void Ask(const std::string& method, const Credentials&, const Message& request, std::unique_ptr<Message> answer,
           std::chrono::milliseconds, Done done) override {
    const Status status = StatusOf(request);
    if (method == "ClientApi/GetJob") FillJob(static_cast<v1::GetJobResponse*>(answer.get())->mutable_job());
    if (method == "ClientApi/ListJobs") FillJob(static_cast<v1::ListJobsResponse*>(answer.get())->add_jobs());
    done(status, std::move(answer));
  }
  std::shared_ptr<ReadStream> Open(const std::string& method, const Credentials&, const Message& request,
                                   std::unique_ptr<Message> message, ReadStream::Told told) override {
    const Status status = StatusOf(request);
    if (method == "ClientApi/StreamLog") static_cast<v1::StreamLogResponse*>(message.get())->set_data("of a rank\n");
    if (method == "ClientApi/StreamEvents") {
      static_cast<v1::StreamEventsResponse*>(message.get())->add_events()->set_message("\xff\"\n");
    }
    if (status.ok()) told(message.get(), Status::Ok());
    told(nullptr, status);
    return std::make_shared<Over>();
  }

 private:
  // A stream of which all has been told.
  class Over final : public ReadStream {
   public:
    void Next() override {}
    void Cancel() override {}
  };

  static Status StatusOf(const Message& request) {
    const std::size_t bytes = request.ByteSizeLong();
    if (bytes % 3 != 2) return Status::Ok();
    return Status(static_cast<StatusCode>(1 + bytes % 16), "refused: " + request.ShortDebugString())
        .WithReason("REFUSED")
        .WithField("a\r\nb");
  }
  static void FillJob(v1::Job* job) {
    job->set_id(7);
    job->set_message("a \xff \x1b[2J \r\n\r\n b");
    job->mutable_spec()->set_name("of-kim");
  }
};

class StandInStream final : public StreamRoutes {
 public:
  Status Open(const StreamRequest& request, const StreamCaller&, std::shared_ptr<SseSink> sink) override {
    if (request.query.size() % 2 == 0) return {StatusCode::kInvalidArgument, "topics"};
    sink->Write(std::make_shared<const std::string>("data: {}\n\n"));
    sink->Close();
    return Status::Ok();
  }
};

void CheckBody(const http::response<http::string_body>& answer) {
  const std::string type(answer[http::field::content_type]);
  const bool packed = answer.count(http::field::content_encoding) > 0;
  if (type != kJsonType || packed || answer.body().empty()) return;
  Holds(proto::Json::accept(answer.body()), "an answer reads", answer.body());
  const bool is_refusal = answer.result_int() >= 400;
  const bool has_words = answer.body().find(R"("message":"")") == std::string::npos;
  Holds(!is_refusal || has_words, "a refusal has words", answer.body());
}

// What was written is one answer behind the other. `verbs`: of the requests that were handled.
void CheckAnswers(std::string_view written, const std::vector<std::string>& verbs) {
  std::size_t answers = 0;
  while (!written.empty()) {
    http::response_parser<http::string_body> parser;
    parser.body_limit(std::uint64_t{64} << 20);
    parser.header_limit(std::uint32_t{64} << 10);
    parser.eager(true);
    // The refusal of a request that was not handled: its body may be missing, for HEAD.
    const bool is_last = answers >= verbs.size();
    parser.skip(!is_last && verbs[answers] == "HEAD");
    boost::system::error_code error;
    std::size_t used = 1;
    while (used > 0 && !written.empty() && !parser.is_done()) {
      used = parser.put(asio::buffer(written), error);
      Holds(!error || error == http::error::need_more, "what is sent is HTTP", written);
      written.remove_prefix(used);
    }
    Holds(parser.is_header_done(), "a head is whole", written);
    if (parser.get().result_int() == 100) continue;
    Holds(parser.get().result_int() != 500 || !verbs.empty(), "nothing fails by itself", written);
    Holds(parser.get()["X-Content-Type-Options"] == "nosniff", "each answer tells browsers to be careful", written);
    ++answers;
    if (!parser.is_done()) break;  // the client hung up before a stream's end
    CheckBody(parser.get());
  }
  Holds(answers <= verbs.size() + 1, "one answer for each request");
}

}  // namespace
}  // namespace glim::gateway

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glim::gateway;  // NOLINT: one function, all of it about these
  if (size == 0) return 0;
  SentBytes::Wire wire{
      {reinterpret_cast<const char*>(data) + 1, size - 1}, std::size_t{1} + std::size_t{16} * data[0], {}};
  StandIn backend;
  StandInStream streams;
  static boost::asio::io_context io(1);  // one for all: each would open descriptors of its own
  io.restart();
  Api::Options options;
  options.identity = data[0] % 2 == 0;
  options.names = {"head"};
  options.streams = &streams;
  Api api(&backend, std::move(options), io.get_executor());
  const auto holdings = std::make_shared<Holdings>(HoldingBounds{});
  std::vector<std::string> verbs;
  {
    holdings->Begin(kPeer);
    const auto handle = [&](HttpRequest request, std::shared_ptr<Exchange> exchange) {
      verbs.push_back(request.verb);
      api.Handle(std::move(request), std::move(exchange));
    };
    auto transport = std::make_unique<SentBytes>(&io, &wire);
    const auto connection =
        std::make_shared<Connection>(std::move(transport), kPeer, true, ConnectionTimes{}, holdings, handle);
    connection->Start();
    while (io.poll() > 0 && verbs.size() < kAnswersMax) {
    }
    connection->Close();
    io.poll();
  }
  backend.Stop();
  io.poll();
  CheckAnswers(wire.written, verbs);
  glim::fuzz::Holds(holdings->bytes() == 0, "nothing is held any more");
  return 0;
}
