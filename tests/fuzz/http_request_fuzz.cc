// Any bytes as an HTTP request, as far as the gateway goes without a scheduler: an RPC's message, or a refusal whose
// head nobody can split and whose body reads.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "proto/json/message_json.h"
#include "scheduler/gateway/answers.h"
#include "scheduler/gateway/head.h"
#include "scheduler/gateway/request_fields.h"
#include "scheduler/gateway/routes.h"
#include "scheduler/gateway/sessions.h"
#include "tests/fuzz/holds.h"

namespace glim::gateway {
namespace {

using fuzz::Holds;
namespace http = boost::beast::http;

void CheckAnswer(const HttpAnswer& answer) {
  const std::string head = HeadOf(answer, answer.body ? answer.body->size() : 0, {true, true, false});
  Holds(head.ends_with("\r\n\r\n") && head.find("\r\n\r\n") == head.size() - 4, "a head has one end", head);
  if (answer.content_type != kJsonType) return;
  const proto::Json document = proto::Json::parse(*answer.body, nullptr, false);
  Holds(document.is_object() && document["version"] == proto::kJsonVersion, "an answer reads", *answer.body);
}

void TryRoute(const HttpRequest& request) {
  const auto asker = WhoAsks(request, true);
  if (!asker.ok()) return CheckAnswer(ErrorAnswer(asker.status()));
  const Match match = FindRoute(request.verb, request.path);
  if (match.route == nullptr) return;
  if (Status s = CheckForgery(request, *asker); !s.ok()) return CheckAnswer(ErrorAnswer(s));
  const auto message = RequestMessage(match, request);
  if (!message.ok()) return CheckAnswer(ErrorAnswer(message.status()));
  proto::Json document = Document(**message);
  if (const std::string* const mask = request.Query("fields")) {
    if (Status s = ApplyMask(*mask, **message, &document); !s.ok()) return CheckAnswer(ErrorAnswer(s));
  }
  CheckAnswer(DocumentAnswer(request, DumpDocument(document)));
  AcceptsGzip(request);
}

}  // namespace
}  // namespace glim::gateway

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace http = boost::beast::http;
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(data, size), error);
  if (error || !parser.is_done()) return 0;
  const auto& message = parser.get();
  glim::gateway::HttpRequest request;
  request.verb = std::string(message.method_string());
  for (const auto& header : message) {
    std::string name(header.name_string());
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    request.headers.emplace_back(std::move(name), std::string(header.value()));
  }
  request.body = message.body();
  const auto target = message.target();
  if (!glim::gateway::ParseTarget({target.data(), target.size()}, &request.path, &request.query)) return 0;
  glim::gateway::TryRoute(request);
  return 0;
}
