#include "nodeagent/confinement/account_files.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

namespace glim::nodeagent {
namespace {

constexpr const char* kOwnAddress = "127.0.1.1";
constexpr std::size_t kNameMax = 32;  // as shadow-utils have it

std::vector<std::string> Split(const std::string& line, char at) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, at);) fields.push_back(field);
  return fields;
}

// Of a file of colon-separated lines, whose first field is a name and whose third is an id.
bool Knows(const std::string& file, const std::string& name, std::uint32_t id, bool by_id) {
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = Split(line, ':');
    if (fields.size() < 3) continue;
    if (by_id ? fields[2] == std::to_string(id) : fields[0] == name) return true;
  }
  return false;
}

// What a field of these files can hold.
bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kNameMax && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '@' || c == '+';
  });
}

std::string NameFor(const std::string& file, const std::string& wanted, std::uint32_t id) {
  return IsName(wanted) && !Knows(file, wanted, id, false) ? wanted : "glim-" + std::to_string(id);
}

std::string Appended(const std::string& file, const std::string& line) {
  return file + (file.empty() || file.back() == '\n' ? "" : "\n") + line + "\n";
}

// A colon or a line end would be another field.
std::string FieldOf(std::string text) {
  const bool fits = text.find_first_of(":\n") == std::string::npos && text.starts_with("/");
  return fits ? text : "/";
}

}  // namespace

std::string PasswdWith(const std::string& passwd, const TaskAccount& account) {
  const TaskUser& user = account.user;
  if (Knows(passwd, "", user.uid, true)) return passwd;
  return Appended(passwd, NameFor(passwd, account.name, user.uid) + ":x:" + std::to_string(user.uid) + ":" +
                              std::to_string(user.gid) + "::" + FieldOf(account.home) + ":/bin/bash");
}

std::string GroupWith(const std::string& group, const TaskAccount& account) {
  std::string file = group;
  std::vector<gid_t> ids = account.user.groups;
  ids.insert(ids.begin(), account.user.gid);
  for (const gid_t id : ids) {
    if (Knows(file, "", id, true)) continue;
    const std::string wanted = id == account.user.gid ? account.name : "";
    file = Appended(file, NameFor(file, wanted, id) + ":x:" + std::to_string(id) + ":");
  }
  return file;
}

std::string HostsWith(const std::string& hosts, const std::string& host_name, const std::string& address) {
  std::istringstream lines(hosts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    words >> word;  // the address
    while (words >> word) {
      if (word == host_name) return hosts;
    }
  }
  return Appended(hosts, (address.empty() ? kOwnAddress : address) + (" " + host_name));
}

}  // namespace glim::nodeagent
