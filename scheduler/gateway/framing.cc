#include "scheduler/gateway/framing.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <iterator>
#include <string>

#include "scheduler/gateway/answers.h"

namespace glim::gateway {
namespace {

namespace http = boost::beast::http;

HttpAnswer BadHttp(std::string message, std::string fix) {
  return ErrorAnswer(400, "BAD_HTTP", std::move(message), std::move(fix));
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// RFC 9112, 6.1 and 6.3: of what says how long the body is there is one way to read it.
HttpAnswer RefusalOfLength(const http::header<true>& head) {
  const auto encodings = head.count(http::field::transfer_encoding), lengths = head.count(http::field::content_length);
  if (encodings > 0 && lengths > 0) {
    return BadHttp("Transfer-Encoding and Content-Length are both there", "send one of them");
  }
  if (encodings > 0 && head.version() < 11) return BadHttp("HTTP/1.0 has no Transfer-Encoding", "use HTTP/1.1");
  if (encodings > 1 || (encodings > 0 && !boost::beast::iequals(head[http::field::transfer_encoding], "chunked"))) {
    return ErrorAnswer(501, "BAD_HTTP", "a Transfer-Encoding other than chunked is not understood",
                       "send the body as it is, with Content-Length, or in chunks");
  }
  const auto length = head[http::field::content_length];
  if (lengths > 1 || (lengths > 0 && !IsNumber({length.data(), length.size()}))) {
    return BadHttp("Content-Length is not one number", "send the length of the body once");
  }
  return {};
}

}  // namespace

HttpAnswer RefusalOfHead(const http::header<true>& head, std::string_view written) {
  if (head.target().size() > kTargetBytesMax) {
    return ErrorAnswer(414, "TARGET_TOO_LONG", "the address is too long", "use at most 8000 bytes");
  }
  if (static_cast<std::size_t>(std::distance(head.begin(), head.end())) > kHeadersMax) {
    return ErrorAnswer(431, "TOO_MANY_HEADERS", "there are more than 100 headers", "send fewer");
  }
  if (written.find("\r\n ") != std::string_view::npos || written.find("\r\n\t") != std::string_view::npos) {
    return BadHttp("a header goes on in another line", "write each header in one line");
  }
  if (head.version() == 11 && head.count(http::field::host) != 1) {
    return BadHttp("there has to be one header Host", "send it");
  }
  if (HttpAnswer refusal = RefusalOfLength(head); refusal.status != 200) return refusal;
  if (head.count(http::field::upgrade) > 0 && boost::beast::iequals(head[http::field::upgrade], "websocket")) {
    return BadHttp("there are no WebSockets here", "use GET /v1/stream");
  }
  return {};
}

HttpAnswer RefusalOfTrailer() {
  return BadHttp("there are headers behind the body", "send them before it, or not at all");
}

}  // namespace glim::gateway
