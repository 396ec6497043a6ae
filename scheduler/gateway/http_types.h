// A request and an answer as values, for whatever is decided about them; the connection has the bytes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glim::gateway {

class StreamSink;

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string verb;    // "GET"
  std::string path;    // as it came, still encoded, without the query
  NamedTexts query;    // decoded, in order
  NamedTexts headers;  // names in lower case
  std::string body;
  std::string peer;     // "ipv4:10.0.0.7", as gRPC names it
  bool secure = false;  // it came by TLS

  // Null: there is none. Of several the first.
  const std::string* Header(std::string_view name) const;
  std::size_t CountOf(std::string_view name) const;  // of a header
  const std::string* Query(std::string_view name) const;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type;                 // empty: there is no body
  NamedTexts headers;                       // beside those that each answer has
  std::shared_ptr<const std::string> body;  // null: none
};

// One request that waits for its answer, on the side of whoever answers: Answer or Stream, once. Any thread.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void Answer(HttpAnswer answer) = 0;
  // The head is sent, and the body is what the sink is fed: also what it has been fed before.
  virtual void Stream(HttpAnswer head, std::shared_ptr<StreamSink> sink) = 0;
};

// What a target "/v1/jobs/7?fields=a,b" says. False: it is none, or asks for too much.
bool ParseTarget(std::string_view target, std::string* path, NamedTexts* query);
// "%2f" and the like decoded; '+' stays as it is but in a query. False: it is broken, or has a zero byte.
bool DecodePercent(std::string_view text, bool in_query, std::string* out);

std::string_view ReasonPhrase(int status);

}  // namespace glim::gateway
