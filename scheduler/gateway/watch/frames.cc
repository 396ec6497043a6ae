#include "scheduler/gateway/watch/frames.h"

#include <utility>

#include "sdk/base/rfc3339.h"

namespace glim::gateway {
namespace {

using proto::Json;

const char* WordOf(StatusCode code) {
  switch (code) {
    case StatusCode::kUnauthenticated: return "unauthenticated";
    case StatusCode::kPermissionDenied: return "permission_denied";
    case StatusCode::kResourceExhausted: return "resource_exhausted";
    case StatusCode::kUnavailable: return "unavailable";
    case StatusCode::kNotFound: return "not_found";
    default: return "internal";
  }
}

}  // namespace

std::string OneLine(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string EventText(std::string_view name, std::string_view data) {
  std::string text;
  text.reserve(name.size() + data.size() + 20);
  text.append("event: ").append(name).append("\ndata: ").append(data).append("\n\n");
  return text;
}

std::string IdText(std::string_view id) { return "id: " + std::string(id) + "\n\n"; }

std::string HeartbeatText() { return ":\n\n"; }

std::string RetryText(Duration after) { return "retry: " + std::to_string(after.ms) + "\n\n"; }

std::string StaleText(TimePoint since, const std::string& why) {
  Json json = proto::NewDocument();
  json["stale_since_ms"] = since.ms;
  json["stale_since"] = since ? Json(FormatRfc3339(since)) : Json(nullptr);
  json["message"] = why;
  return EventText("stale", OneLine(json));
}

std::string ByeText(const Status& why) {
  Json json = proto::NewDocument();
  json["error"] = {{"code", WordOf(why.code())},
                   {"reason", why.reason()},
                   {"message", why.message()},
                   {"field", why.field()},
                   {"fix", why.fix()}};
  return EventText("bye", OneLine(json));
}

std::string JsonString(const std::string& text) { return OneLine(Json(text)); }

}  // namespace glim::gateway
