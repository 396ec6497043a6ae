#include "nodeagent/identity/identity_folder.h"

#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "sdk/io/folders.h"
#include "sdk/io/private_file.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kFileMax = 1 << 18;
constexpr const char* kInvite =
    "an operator invites this node with `glim admin node invite`: run the line that it prints here";

Status Bad(const std::string& path, const std::string& why) {
  return Status(StatusCode::kFailedPrecondition, path + ": " + why).WithReason("BAD_IDENTITY").WithFix(kInvite);
}

}  // namespace

Result<NodeCredentials> IdentityFolder::Read() const {
  const auto text = ReadPrivateFile(path_ + "/certificate.pem", kFileMax);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
    return Status(StatusCode::kFailedPrecondition,
                  "this node is not enrolled: there is no " + path_ + "/certificate.pem")
        .WithReason("NOT_ENROLLED")
        .WithField("--state-dir")
        .WithFix(std::string(kInvite) +
                 ". A scheduler that runs without identity takes an agent with --insecure-without-identity");
  }
  if (!text.ok()) return text.status();
  auto certificate = pki::Certificate::FromPem(*text);
  if (!certificate.ok()) return Bad(path_ + "/certificate.pem", certificate.status().message());
  auto key = pki::ReadKeyFile(path_ + "/key.pem");
  if (!key.ok()) return Bad(path_ + "/key.pem", key.status().message());
  const auto trusted = ReadPrivateFile(path_ + "/authorities.pem", kFileMax);
  if (!trusted.ok()) return Bad(path_ + "/authorities.pem", trusted.status().message());
  auto authorities = pki::ReadCertificates(*trusted);
  if (!authorities.ok()) return Bad(path_ + "/authorities.pem", authorities.status().message());
  if (!certificate->IsFor(pki::PublicHalf(*key)) || !pki::NodeNameOf(*certificate)) {
    return Bad(path_, "key.pem and certificate.pem do not belong together");
  }
  return NodeCredentials{std::move(key).value(), std::move(certificate).value(), std::move(authorities).value()};
}

Status IdentityFolder::WriteAll(const NodeCredentials& credentials, const std::string& scheduler) const {
  if (Status status = MakePrivateFolder(path_); !status.ok()) return status;
  if (Status status = pki::WriteKeyFile(path_ + "/key.pem", credentials.key); !status.ok()) return status;
  if (Status status = WriteFileAtomically(path_ + "/scheduler", scheduler + "\n", Durability::kMachine); !status.ok()) {
    return status;
  }
  return WriteRenewed(credentials);
}

Status IdentityFolder::WriteRenewed(const NodeCredentials& credentials) const {
  if (Status status =
          WriteFileAtomically(path_ + "/authorities.pem", pki::PemOf(credentials.authorities), Durability::kMachine);
      !status.ok()) {
    return status;
  }
  return WriteFileAtomically(path_ + "/certificate.pem", credentials.certificate.Pem(), Durability::kMachine);
}

std::string IdentityFolder::Scheduler() const {
  const auto text = ReadFile(path_ + "/scheduler", 512);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

std::uint64_t IdentityFolder::Version() const {
  struct stat info {};
  if (::stat((path_ + "/certificate.pem").c_str(), &info) != 0) return 0;
  const auto at = static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000 +
                  static_cast<std::uint64_t>(info.st_mtim.tv_nsec);
  return at ^ (static_cast<std::uint64_t>(info.st_ino) << 1) ^ 1;
}

TimePoint WallTime() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return TimePoint{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
}

}  // namespace glim::nodeagent
