#include "sdk/net/rdma.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "sdk/io/read_file.h"

namespace glim::net {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLineBytesMax = 4096;
constexpr int kAddressesLookedAt = 8;  // of a port's table, which has up to a thousand places, most of them free

std::string FirstLine(const fs::path& path) {
  const Result<std::string> text = ReadFile(path.string(), kLineBytesMax);
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

// "4: ACTIVE"
std::string StateIn(const fs::path& port) {
  const std::string line = FirstLine(port / "state");
  const std::size_t word = line.find(": ");
  return word == std::string::npos ? "UNKNOWN" : line.substr(word + 2);
}

// A place that holds no address has no interface either.
std::string InterfaceOf(const fs::path& port) {
  for (int i = 0; i < kAddressesLookedAt; ++i) {
    std::string name = FirstLine(port / "gid_attrs" / "ndevs" / std::to_string(i));
    if (!name.empty()) return name;
  }
  return "";
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::vector<RdmaPort> RdmaPorts(const std::string& folder) {
  std::vector<RdmaPort> ports;
  std::error_code error;
  for (fs::directory_iterator device(folder, error), end; !error && device != end; device.increment(error)) {
    std::error_code none;
    for (fs::directory_iterator port(device->path() / "ports", none), last; !none && port != last;
         port.increment(none)) {
      const fs::path& path = port->path();
      ports.push_back(
          {device->path().filename().string() + ":" + path.filename().string(), StateIn(path), InterfaceOf(path)});
    }
  }
  std::sort(ports.begin(), ports.end(), [](const RdmaPort& a, const RdmaPort& b) { return a.name < b.name; });
  return ports;
}

std::string UsablePorts(const std::vector<RdmaPort>& ports) {
  std::string names;
  for (const RdmaPort& port : ports) {
    if (port.active() && !port.loopback()) names += (names.empty() ? "" : ",") + port.name;
  }
  return names;
}

bool NamesVerbs(const std::string& tls) {
  std::istringstream names(tls);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "ib" || name.starts_with("rc") || name.starts_with("dc") || name.starts_with("ud")) return true;
  }
  return false;
}

bool OnlyHardwareWrites(const std::string& tls) {
  std::istringstream names(tls);
  bool any = false;
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "self") continue;
    if (!name.starts_with("rc") && !name.starts_with("dc")) return false;
    any = true;
  }
  return any;
}

UcxVariables UcxVariablesOfProcess() { return {Variable("UCX_TLS"), Variable("UCX_NET_DEVICES")}; }

}  // namespace glim::net
