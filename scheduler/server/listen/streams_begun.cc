#include "scheduler/server/listen/streams_begun.h"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>
#include <net/if.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace glim::server {
namespace {

constexpr int kAll = 1'000'000;

// What gRPC answers, as text; empty: there is no such thing any more.
std::string Take(char* json) {
  std::string text = json == nullptr ? "" : json;
  gpr_free(json);
  return text;
}

// What stands between `"key":"` and the next quote, from `at` on, which goes behind it; empty: there is none.
std::string_view Next(std::string_view text, std::string_view key, std::size_t* at) {
  const std::string begin = "\"" + std::string(key) + "\":\"";
  const std::size_t found = text.find(begin, *at);
  if (found == std::string_view::npos) return {};
  const std::size_t from = found + begin.size(), to = text.find('"', from);
  if (to == std::string_view::npos) return {};
  *at = to;
  return text.substr(from, to - from);
}

std::int64_t Number(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string PeerOfUri(const std::string& uri) {
  std::string peer;
  for (std::size_t at = uri.find(':') + 1; at < uri.size(); ++at) {
    unsigned char byte = 0;
    const char* const code = uri.data() + at + 1;
    if (uri[at] == '%' && at + 2 < uri.size() && std::from_chars(code, code + 2, byte, 16).ptr == code + 2) {
      peer += static_cast<char>(byte);
      at += 2;
    } else {
      peer += uri[at];
    }
  }
  const std::size_t zone = peer.find('%'), end = peer.find(']', zone);
  if (zone == std::string::npos || end == std::string::npos) return peer;
  char name[IF_NAMESIZE];
  const std::int64_t index = Number(std::string_view(peer).substr(zone + 1, end - zone - 1));
  if (::if_indextoname(static_cast<unsigned>(index), name) != nullptr) peer.replace(zone + 1, end - zone - 1, name);
  return peer;
}

std::map<std::string, std::uint64_t> StreamsBegun(const std::set<std::string>& peers) {
  std::map<std::string, std::uint64_t> begun;
  const std::string servers = Take(grpc_channelz_get_servers(0));
  std::size_t server_at = 0;
  for (;;) {
    const std::string_view server = Next(servers, "serverId", &server_at);
    if (server.empty()) return begun;
    const std::string sockets = Take(grpc_channelz_get_server_sockets(Number(server), 0, kAll));
    std::size_t at = 0;
    for (;;) {
      const std::string_view name = Next(sockets, "name", &at);  // "chttp2 ipv4:10.0.0.7:51234"
      const std::string_view id = Next(sockets, "socketId", &at);
      if (id.empty()) break;
      std::string peer = PeerOfUri(std::string(name.substr(name.find(' ') + 1)));
      if (!peers.contains(peer)) continue;
      const std::string socket = Take(grpc_channelz_get_socket(Number(id)));
      std::size_t in_socket = 0;
      begun[std::move(peer)] = static_cast<std::uint64_t>(Number(Next(socket, "streamsStarted", &in_socket)));
    }
  }
}

}  // namespace glim::server
