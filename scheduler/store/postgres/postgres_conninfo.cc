#include "scheduler/store/postgres/postgres_conninfo.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>
#include <libpq-fe.h>

#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"

namespace glim::store {

namespace {

constexpr std::size_t kFileBytesMax = 64 * 1024;

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

Status Refused(std::string message, std::string fix) {
  return Status(StatusCode::kInvalidArgument, std::move(message))
      .WithReason("INVALID_CONFIG")
      .WithField("store")
      .WithFix(std::move(fix));
}

Result<std::string> ReadPrivateFile(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return Refused(fmt::format("cannot read {}: {}", path, std::strerror(errno)), "check the path and its owner");
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Refused(path + " is not a regular file", "name a file with libpq's keywords");
  }
  if ((info.st_mode & 077) != 0) {
    return Refused(path + " can be read or written by others", "chmod 600 " + path);
  }
  std::string text;
  const int error = ReadAll(fd.get(), kFileBytesMax, text);
  if (error == EFBIG) return Refused(path + " is too large", "at most 64 KiB");
  if (error != 0) return Refused(fmt::format("cannot read {}: {}", path, std::strerror(error)), "check the disk");
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

bool IsSecret(const char* keyword) { return std::strstr(keyword, "password") != nullptr; }

std::string Quoted(const char* value) {
  std::string out = "'";
  for (const char* c = value; *c != '\0'; ++c) {
    if (*c == '\'' || *c == '\\') out += '\\';
    out += *c;
  }
  return out + "'";
}

// What libpq would wait for without end, or do to a server that only reads.
constexpr std::pair<const char*, const char*> kDefaults[] = {
    {"connect_timeout", "5"},
    {"tcp_user_timeout", "15000"},
    {"keepalives_idle", "5"},
    {"keepalives_interval", "3"},
    {"keepalives_count", "3"},
    {"target_session_attrs", "read-write"},
    {"fallback_application_name", "glim-scheduler"},
};

const char* DefaultFor(const char* keyword) {
  for (const auto& [known, value] : kDefaults) {
    if (std::strcmp(known, keyword) == 0) return value;
  }
  return nullptr;
}

}  // namespace

Result<std::string> PostgresConnInfo(const std::string& location) {
  std::string text = location;
  const bool from_file = location.starts_with("file=");
  if (from_file) {
    auto read = ReadPrivateFile(location.substr(5));
    if (!read.ok()) return read.status();
    text = std::move(read).value();
  }
  char* error = nullptr;
  const Options options(PQconninfoParse(text.c_str(), &error));
  // libpq's message may quote the text, and with it a secret: it is not passed on.
  if (error != nullptr) PQfreemem(error);
  if (!options) {
    return Refused("the place of the PostgreSQL database is not in libpq's form",
                   "write keyword=value pairs as in host=/run/postgresql dbname=glim");
  }
  std::string conninfo;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    const char* value = option->val;
    if (value != nullptr && IsSecret(option->keyword) && !from_file) {
      return Refused(fmt::format("{} must not stand in the store's URL, where others can read it", option->keyword),
                     "use ~/.pgpass, PGPASSFILE, or postgres:file=PATH with a file of mode 0600");
    }
    if (value == nullptr) value = DefaultFor(option->keyword);
    if (value != nullptr) conninfo += fmt::format("{}={} ", option->keyword, Quoted(value));
  }
  return conninfo;
}

}  // namespace glim::store
