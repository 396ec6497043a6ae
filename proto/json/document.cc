#include "proto/json/document.h"

#include <cstdio>
#include <string_view>

#include "sdk/base/printable.h"
#include "sdk/base/utf8.h"

namespace glim::proto {
namespace {

std::string EscapedUnit(unsigned unit) {
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04x", unit & 0xFFFFU);
  return text;
}

std::string EscapedForTerminal(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const Utf8Char c = DecodeUtf8(json.substr(at));
    if (c.code >= 0x7F && (!c.ok || IsControl(c.code) || IsDeceptive(c.code))) {
      const unsigned code = c.ok ? static_cast<unsigned>(c.code) : 0xFFFDU;
      const unsigned high = code - 0x10000U;
      out += code < 0x10000U ? EscapedUnit(code)
                             : EscapedUnit(0xD800U + (high >> 10U)) + EscapedUnit(0xDC00U + (high & 0x3FFU));
    } else {
      out.append(json.substr(at, c.size));
    }
    at += c.size;
  }
  return out;
}

}  // namespace

Json JobJson(const glim::v1::Job& job) {
  Json object = MessageJson(job);
  object["gpus"] = GpusOf(job);
  object["gpus_simulated"] = HasSimulatedGpus(job);
  return object;
}

std::string DumpJson(const Json& document) {
  return EscapedForTerminal(document.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace glim::proto
