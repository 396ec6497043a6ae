#include "nodeagent/options/address_check.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

#include "sdk/base/printable.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kHostBytesMax = 253;

bool IsIp(int family, const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(family, text.c_str(), bytes) == 1;
}

bool IsHostName(const std::string& text) {
  const bool spelled = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  const bool like_ip = text.find_first_not_of("0123456789.") == std::string::npos;
  return spelled && !like_ip && text.front() != '.' && text.front() != '-' && text.find("..") == std::string::npos;
}

bool IsHost(std::string text) {
  if (text.empty() || text.size() > kHostBytesMax) return false;
  if (text.front() == '[' && text.back() == ']') return IsIp(AF_INET6, text.substr(1, text.size() - 2));
  return IsIp(AF_INET, text) || IsIp(AF_INET6, text) || IsHostName(text);
}

bool IsPort(const std::string& text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == std::string::npos &&
         std::stoul(text) >= 1 && std::stoul(text) <= 65535;
}

}  // namespace

Status CheckHost(const std::string& option, const std::string& host) {
  if (IsHost(host)) return Status::Ok();
  return InvalidArgument(option, option + " \"" + Printable(host) + "\" is neither a host name nor an IP address",
                         "name the one that other nodes reach this node by, without a port: 10.0.0.7");
}

Status CheckTarget(const std::string& option, const std::string& target) {
  if (target.starts_with("unix:") && target.size() > 5) return Status::Ok();
  const std::size_t colon = target.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == target.size()) {
    return InvalidArgument(option, option + " \"" + Printable(target) + "\" is no address", "use HOST:PORT");
  }
  if (!IsPort(target.substr(colon + 1))) {
    return InvalidArgument(option, option + " \"" + Printable(target) + "\" has no port from 1 to 65535",
                           "use HOST:PORT, with the port where the scheduler listens: head:7601");
  }
  const std::string host = target.substr(0, colon);
  if (host.find("//") != std::string::npos) return Status::Ok();  // gRPC's own way to write a name: dns:///head
  return CheckHost(option, host);
}

bool IsLoopbackTarget(const std::string& target) {
  if (target.starts_with("unix:")) return true;
  std::string host = target.substr(0, target.rfind(':'));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host == "localhost" || host == "::1") return true;
  return host.starts_with("127.") && IsIp(AF_INET, host);
}

}  // namespace glim::nodeagent
