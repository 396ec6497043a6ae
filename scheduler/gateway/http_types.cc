#include "scheduler/gateway/http_types.h"

#include <algorithm>
#include <cstddef>

namespace glim::gateway {
namespace {

constexpr std::size_t kParametersMax = 100;

const std::string* Find(const NamedTexts& texts, std::string_view name) {
  const auto at = std::find_if(texts.begin(), texts.end(), [name](const auto& text) { return text.first == name; });
  return at == texts.end() ? nullptr : &at->second;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

const std::string* HttpRequest::Header(std::string_view name) const { return Find(headers, name); }
const std::string* HttpRequest::Query(std::string_view name) const { return Find(query, name); }

std::size_t HttpRequest::CountOf(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(headers.begin(), headers.end(), [name](const auto& text) { return text.first == name; }));
}

bool DecodePercent(std::string_view text, bool in_query, std::string* out) {
  out->clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && in_query) {
      c = ' ';
    }
    if (c == '\0') return false;
    *out += c;
  }
  return true;
}

bool ParseTarget(std::string_view target, std::string* path, NamedTexts* query) {
  if (target.empty() || target[0] != '/') return false;
  const std::size_t question = target.find('?');
  *path = target.substr(0, question);
  if (path->find('#') != std::string::npos) return false;
  query->clear();
  if (question == std::string_view::npos) return true;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (one.empty()) continue;
    if (query->size() >= kParametersMax) return false;
    auto& [name, value] = query->emplace_back();
    const std::size_t equals = one.find('=');
    if (!DecodePercent(one.substr(0, equals), true, &name)) return false;
    if (equals != std::string_view::npos && !DecodePercent(one.substr(equals + 1), true, &value)) return false;
  }
  return true;
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Other";
  }
}

}  // namespace glim::gateway
