#include "cli/rpc/login_file.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text/text.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"
#include "sdk/tokens/opaque_token.h"
#include "sdk/yaml/fields.h"

namespace glim::cli {
namespace {

constexpr std::size_t kLoginBytesMax = 1 << 16;

Status BadFile(const std::string& path, const std::string& why) {
  return Status(StatusCode::kInvalidArgument, fmt::format("{} {}", path, why))
      .WithReason("BAD_TOKEN_FILE")
      .WithFix("'glim login' writes it anew");
}

Status CheckMode(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return FileError("look at", path, errno);
  if (!S_ISREG(info.st_mode)) return BadFile(path, "is no file");
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Status(StatusCode::kPermissionDenied, fmt::format("{} holds a token, and others can read it", path))
        .WithReason("OPEN_TO_OTHERS")
        .WithField("token_file")
        .WithFix(fmt::format("revoke that token; then 'chmod 600 {}' and write a new one", path));
  }
  const uid_t self = ::geteuid();
  if (self == 0 || info.st_uid == self || info.st_uid == 0) return Status::Ok();
  return Status(StatusCode::kPermissionDenied, fmt::format("{} belongs to user {}, not to you", path, info.st_uid))
      .WithReason("OPEN_TO_OTHERS")
      .WithField("token_file")
      .WithFix("use a token file of your own; 'glim login' makes one");
}

}  // namespace

Result<Login> ReadLogin(const std::string& path) {
  if (path.empty()) return Status(StatusCode::kNotFound, "no file holds a token");
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    if (errno == ENOTDIR) return FileError("open", path, ENOENT);
    return FileError("open", path, errno);
  }
  if (Status mode = CheckMode(file.get(), path); !mode.ok()) return mode;
  std::string text;
  if (const int error = ReadAll(file.get(), kLoginBytesMax, text); error != 0) return FileError("read", path, error);
  Login login;
  const std::string word = Trimmed(text);
  if (word.starts_with("glim_")) {
    login.token = word;
  } else {
    bool lent = false;
    const yaml::Fields fields = {{"server", yaml::IntoText(&login.server)},
                                 {"ca_fingerprint", yaml::IntoText(&login.fingerprint)},
                                 {"ca", yaml::IntoText(&login.authority)},
                                 {"token", yaml::IntoText(&login.token)},
                                 {"lent", yaml::IntoBool(&lent)}};
    // A refusal of the reader's could quote the line that it is about.
    if (!yaml::ReadText(text, path, fields).ok()) return BadFile(path, "is no token, and not what 'glim login' writes");
    login.lent = lent;
    if (login.server.empty() || login.fingerprint.empty() || login.authority.empty()) {
      return BadFile(path, "does not say which scheduler its token is for");
    }
  }
  if (!ParseToken(login.token).ok()) return BadFile(path, "holds no whole token");
  return login;
}

Status WriteLogin(const std::string& path, const Login& login) {
  if (path.empty()) {
    return Status(StatusCode::kFailedPrecondition, "there is no folder to keep the token in")
        .WithReason("NO_HOME")
        .WithFix("set HOME or XDG_CONFIG_HOME");
  }
  const std::string folder = std::filesystem::path(path).parent_path();
  if (Status made = MakeFolders(folder); !made.ok()) return made;
  std::string text = "# Written by 'glim login'. Whoever can read this file can act in your name.\n";
  text += fmt::format("server: \"{}\"\nca_fingerprint: {}\nlent: {}\ntoken: {}\nca: |\n", login.server,
                      login.fingerprint, login.lent, login.token);
  for (std::size_t at = 0; at < login.authority.size();) {
    const std::size_t end = std::min(login.authority.find('\n', at), login.authority.size());
    text += "  " + login.authority.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return WriteFileAtomically(path, text, WriteOptions{Durability::kProcess, 0600, false});
}

Status RemoveLogin(const std::string& path) {
  if (path.empty() || ::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return Status::Ok();
  return FileError("remove", path, errno);
}

}  // namespace glim::cli
