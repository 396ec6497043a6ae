#include "scheduler/gateway/head.h"

#include <algorithm>
#include <string_view>

namespace glim::gateway {
namespace {

// Pages use what this server has and nothing else, and nobody frames them.
constexpr char kEach[] =
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Frame-Options: DENY\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n";

bool Has(const HttpAnswer& answer, std::string_view name) {
  return std::any_of(answer.headers.begin(), answer.headers.end(), [name](const auto& h) { return h.first == name; });
}

// No answer is split by what a header's value is made of.
void AddHeader(const std::string& name, const std::string& value, std::string* head) {
  if (value.find_first_of("\r\n") != std::string::npos) return;
  *head += name + ": " + value + "\r\n";
}

}  // namespace

std::string HeadOf(const HttpAnswer& answer, std::optional<std::size_t> length, const HeadRules& rules) {
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " ";
  head += ReasonPhrase(answer.status);
  head += "\r\n";
  if (!answer.content_type.empty()) AddHeader("Content-Type", answer.content_type, &head);
  if (length) AddHeader("Content-Length", std::to_string(*length), &head);
  if (rules.chunked) head += "Transfer-Encoding: chunked\r\n";
  head += rules.keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  for (const auto& [name, value] : answer.headers) AddHeader(name, value, &head);
  if (!Has(answer, "Cache-Control")) head += "Cache-Control: no-store\r\n";
  if (rules.secure) head += "Strict-Transport-Security: max-age=31536000\r\n";
  head += kEach;
  return head + "\r\n";
}

}  // namespace glim::gateway
