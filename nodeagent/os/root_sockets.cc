#include "nodeagent/os/root_sockets.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSocketsBytesMax = 16 << 20;
constexpr std::size_t kStatusBytesMax = 64 << 10;
constexpr std::size_t kToldMax = 32;
constexpr std::size_t kNameBytesMax = 108;
constexpr unsigned long kListens = 0x10000;  // __SO_ACCEPTCON

// By inode: the names of abstract sockets that listen. A line: Num RefCount Protocol Flags Type St Inode Path.
std::map<std::string, std::string> Listening(const std::string& proc) {
  std::map<std::string, std::string> names;
  const Result<std::string> text = ReadFile(proc + "/net/unix", kSocketsBytesMax);
  if (!text.ok()) return names;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, references, protocol, flags, type, state, inode, name;
    if (!(words >> number >> references >> protocol >> flags >> type >> state >> inode)) continue;
    std::getline(words >> std::ws, name);
    const bool listens = (std::strtoul(flags.c_str(), nullptr, 16) & kListens) != 0;
    if (listens && name.size() > 1 && name[0] == '@') names[inode] = name.substr(1);
  }
  return names;
}

bool IsRoots(const std::string& process) {
  const Result<std::string> status = ReadFile(process + "/status", kStatusBytesMax);
  const std::size_t at = status.ok() ? status->find("\nUid:") : std::string::npos;
  if (at == std::string::npos) return false;
  std::istringstream ids(status->substr(at + 5));
  std::uint64_t real = 1, effective = 1;
  return ids >> real >> effective && (real == 0 || effective == 0);
}

}  // namespace

std::vector<std::string> RootsAbstractSockets(const std::string& proc) {
  const std::map<std::string, std::string> listening = Listening(proc);
  std::set<std::string> found;
  if (listening.empty()) return {};
  std::error_code error, gone;
  for (fs::directory_iterator it(proc, error), end; !error && it != end; it.increment(error)) {
    const std::string process = it->path().string();
    if (it->path().filename().string().find_first_not_of("0123456789") != std::string::npos || !IsRoots(process)) {
      continue;
    }
    for (fs::directory_iterator fd(process + "/fd", gone), last; !gone && fd != last; fd.increment(gone)) {
      std::error_code unreadable;
      const std::string target = fs::read_symlink(fd->path(), unreadable).string();
      if (!target.starts_with("socket:[")) continue;
      const auto socket = listening.find(target.substr(8, target.size() - 9));
      if (socket != listening.end()) found.insert(socket->second);
    }
    gone.clear();
  }
  return {found.begin(), found.end()};
}

std::string ToSocketLines(const std::vector<std::string>& names) {
  std::string lines;
  for (std::size_t i = 0; i < std::min(names.size(), kToldMax); ++i) {
    std::string shown;
    for (const unsigned char c : names[i].substr(0, kNameBytesMax))
      shown += c > 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
    lines += shown + "\n";
  }
  return lines;
}

std::vector<std::string> ReadSocketLines(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; names.size() < kToldMax && std::getline(lines, line);) {
    names.push_back(line.substr(0, kNameBytesMax));
  }
  return names;
}

}  // namespace glim::nodeagent
