#include "cli/rpc/identity.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "cli/rpc/login_file.h"
#include "cli/text/file.h"
#include "sdk/pki/certificate.h"

namespace glim::cli {
namespace {

constexpr std::size_t kAuthorityBytesMax = 1 << 17;

struct Authority {
  std::string pem;
  std::vector<std::string> fingerprints;
};

Result<Authority> ReadAuthority(std::string pem) {
  const Result<std::vector<pki::Certificate>> certificates = pki::ReadCertificates(pem);
  if (!certificates.ok()) return certificates.status();
  Authority authority{std::move(pem), {}};
  for (const pki::Certificate& certificate : *certificates) {
    authority.fingerprints.push_back(certificate.fingerprint());
  }
  return authority;
}

Result<Authority> ReadAuthorityFile(const std::string& path) {
  Result<std::string> pem = ReadFile(path, kAuthorityBytesMax);
  if (!pem.ok()) return pem.status();
  Result<Authority> authority = ReadAuthority(*std::move(pem));
  if (authority.ok()) return authority;
  return InvalidArgument("ca", fmt::format("{}: {}", path, authority.status().message()),
                         "name the file with the authority's certificate (PEM), as the operator gave it");
}

Status NoAuthority(const std::string& server) {
  return Status(StatusCode::kUnauthenticated,
                fmt::format("nothing says by which authority the scheduler at {} is known", server))
      .WithReason("NO_AUTHORITY")
      .WithFix(
          "'glim login --server HOST:PORT --ca FILE', or --ca-fingerprint HEX: the operator has both. "
          "A cluster of this machine's own begins with starting glim-scheduler here: glim then finds it");
}

Status OtherServer(const std::string& path, const std::string& got_for) {
  return Status(StatusCode::kUnauthenticated,
                fmt::format("the token in {} was got for {}, which has another authority: it is not shown to this one",
                            path, got_for))
      .WithReason("OTHER_SERVER")
      .WithFix("'glim login' at this scheduler, or name its own token with --token-file");
}

bool Knows(const Authority& authority, const std::string& fingerprint) {
  return std::find(authority.fingerprints.begin(), authority.fingerprints.end(), fingerprint) !=
         authority.fingerprints.end();
}

void TakeOperators(const std::vector<std::string>& folders, std::optional<Authority>* authority, Identity* found) {
  for (const std::string& folder : folders) {
    const Result<Login> login = ReadLogin(folder + "/token");
    if (!login.ok()) continue;
    Result<Authority> own = ReadAuthorityFile(folder + "/ca.pem");
    if (!own.ok() || (*authority && !Knows(**authority, own->fingerprints.front()))) continue;
    if (!*authority) *authority = *std::move(own);
    found->token = login->token;
    found->token_file = folder + "/token";
    return;
  }
}

}  // namespace

std::vector<std::string> OperatorFolders() {
  std::vector<std::string> folders = {"/var/lib/glim/operator"};
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    folders.push_back(std::string(state) + "/glim/operator");
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    folders.push_back(std::string(home) + "/.local/state/glim/operator");
  }
  return folders;
}

Result<Identity> FindIdentity(const Settings& settings, const std::vector<std::string>& operator_folders) {
  std::optional<Authority> authority;
  if (!settings.ca.empty()) {
    Result<Authority> named = ReadAuthorityFile(settings.ca);
    if (!named.ok()) return named.status();
    authority = *std::move(named);
  }
  Identity found;
  const std::string path = settings.token_file.empty() ? settings.login_file : settings.token_file;
  Result<Login> login = ReadLogin(path);
  const bool absent = login.status().code() == StatusCode::kNotFound;
  if (!login.ok() && (!absent || !settings.token_file.empty())) return login.status();
  if (login.ok()) {
    found.token = login->token;
    found.token_file = path;
    found.lent = login->lent;
    if (!login->server.empty()) {
      Result<Authority> own = ReadAuthority(login->authority);
      if (!own.ok()) return own.status();
      if (authority && !Knows(*authority, login->fingerprint)) return OtherServer(path, login->server);
      if (!authority) authority = *std::move(own);
    }
  } else {
    TakeOperators(operator_folders, &authority, &found);
  }
  if (!authority) return NoAuthority(settings.server);
  found.authorities = authority->pem;
  found.fingerprint = authority->fingerprints.front();
  return found;
}

Result<Identity> FindAuthority(const Settings& settings, const std::vector<std::string>& operator_folders) {
  const Result<Login> kept = ReadLogin(settings.login_file);
  Settings asked = settings;
  asked.token_file.clear();
  if (!settings.ca.empty() || !kept.ok() || kept->server != settings.server) asked.login_file.clear();
  Result<Identity> found = FindIdentity(asked, operator_folders);
  if (!found.ok()) return found.status();
  found->token.clear();
  found->token_file.clear();
  return found;
}

}  // namespace glim::cli
