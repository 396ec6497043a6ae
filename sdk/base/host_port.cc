#include "sdk/base/host_port.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "sdk/base/printable.h"

namespace glim {
namespace {

constexpr std::size_t kHostBytesMax = 253;
constexpr int kGroups = 8;  // of an IPv6 address
constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kDns = "dns:///";

bool IsDigit(unsigned char c) { return c >= '0' && c <= '9'; }

// At most `digits_max` digits, no 0 before others.
std::optional<unsigned> NumberOf(std::string_view text, std::size_t digits_max) {
  if (text.empty() || text.size() > digits_max || !std::all_of(text.begin(), text.end(), IsDigit)) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  unsigned number = 0;
  for (const char c : text) number = number * 10 + static_cast<unsigned>(c - '0');
  return number;
}

bool IsIpv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    const std::size_t end = part < 3 ? text.find('.') : text.size();
    if (end == std::string_view::npos) return false;
    const auto number = NumberOf(text.substr(0, end), 3);
    if (!number || *number > 255) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return text.empty();
}

// Groups between colons, of which the last may be an IPv4 address, as which it counts twice; -1: something else.
int GroupsIn(std::string_view text) {
  if (text.empty()) return 0;
  for (int groups = 0;;) {
    const std::size_t end = std::min(text.find(':'), text.size());
    const std::string_view group = text.substr(0, end);
    const bool last = end == text.size();
    if (last && IsIpv4(group)) return groups + 2;
    const bool spelled = std::all_of(group.begin(), group.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (group.empty() || group.size() > 4 || !spelled) return -1;
    ++groups;
    if (last) return groups;
    text.remove_prefix(end + 1);
  }
}

// With the interface behind '%' that an address of one link alone needs.
bool IsIpv6(std::string_view text) {
  const std::size_t percent = text.find('%');
  if (percent != std::string_view::npos) {
    const std::string_view link = text.substr(percent + 1);
    const bool spelled = std::all_of(link.begin(), link.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    });
    if (link.empty() || !spelled) return false;
    text = text.substr(0, percent);
  }
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) return GroupsIn(text) == kGroups;
  const std::string_view before = text.substr(0, gap), behind = text.substr(gap + 2);
  const int first = GroupsIn(before), second = GroupsIn(behind);
  return first >= 0 && second >= 0 && before.find('.') == std::string_view::npos && first + second < kGroups;
}

bool IsBracketed(std::string_view text) { return text.size() > 2 && text.front() == '[' && text.back() == ']'; }

bool IsHostName(std::string_view text) {
  const bool spelled = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  const bool like_ip = text.find_first_not_of("0123456789.") == std::string_view::npos;
  return spelled && !like_ip && text.front() != '.' && text.front() != '-' && text.find("..") == std::string_view::npos;
}

std::string WithoutBrackets(const std::string& host) {
  return IsBracketed(host) ? host.substr(1, host.size() - 2) : host;
}

Status Refuse(const std::string& option, const std::string& text, const std::string& fault) {
  return InvalidArgument(option, option + " \"" + Printable(text) + "\" " + fault, std::string(kWriteHostPort));
}

// The colon before the port; npos: there is none.
std::size_t ColonOf(const std::string& text) {
  if (IsBracketed(text)) return std::string::npos;  // an IPv6 address and nothing else
  return text.rfind(':');
}

}  // namespace

bool IsHost(std::string_view text) {
  if (text.empty() || text.size() > kHostBytesMax) return false;
  if (IsBracketed(text)) return IsIpv6(text.substr(1, text.size() - 2));
  return IsIpv4(text) || IsIpv6(text) || IsHostName(text);
}

Status CheckHost(const std::string& option, const std::string& host) {
  if (IsHost(host)) return Status::Ok();
  return InvalidArgument(option, option + " \"" + Printable(host) + "\" is neither a host name nor an IP address",
                         "name the one that other nodes reach this node by, without a port: 10.0.0.7");
}

Result<HostPort> ParseHostPort(const std::string& option, const std::string& text, PortZero zero) {
  if (text.find("://") != std::string::npos) return Refuse(option, text, "is a URL");
  const std::size_t colon = ColonOf(text);
  if (colon == std::string::npos) return Refuse(option, text, "has no port");
  const std::string host = text.substr(0, colon);
  if (host.empty()) return Refuse(option, text, "has no host");
  if (!IsBracketed(host) && host.find(':') != std::string::npos) {
    // Where the address ends and the port begins nobody can tell: ::1:7601 is an address, too.
    return Refuse(option, text, "has more than one colon: either it has no port, or its IPv6 address no brackets");
  }
  if (!IsHost(host)) return Refuse(option, text, "names neither a host nor an IP address");
  const auto port = NumberOf(std::string_view(text).substr(colon + 1), 5);
  const unsigned least = zero == PortZero::kTaken ? 0 : 1;
  if (!port || *port < least || *port > 65535) {
    return Refuse(option, text, "has no port from " + std::to_string(least) + " to 65535");
  }
  return HostPort{WithoutBrackets(host), static_cast<std::uint16_t>(*port)};
}

std::string JoinHostPort(const std::string& host, std::uint16_t port) {
  const bool brackets = !IsBracketed(host) && host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Status CheckTarget(const std::string& option, const std::string& target) {
  if (target.starts_with(kUnix) && target.size() > kUnix.size()) return Status::Ok();
  const bool name = target.starts_with(kDns);
  return ParseHostPort(option, name ? target.substr(kDns.size()) : target).status();
}

bool IsLoopbackTarget(const std::string& target) {
  if (target.starts_with(kUnix)) return true;
  const auto address = ParseHostPort("", target, PortZero::kTaken);
  if (!address.ok()) return false;
  return address->host == "localhost" || address->host == "::1" ||
         (address->host.starts_with("127.") && IsIpv4(address->host));
}

}  // namespace glim
