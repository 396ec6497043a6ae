#include "nodeagent/identity/identity_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include "sdk/base/printable.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/private_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kFileMax = 1 << 18;  // a key, and as many certificates as one may be told to trust
constexpr const char* kFile = "node.pem";
constexpr const char* kSpare = "node.pem.spare";
constexpr std::string_view kScheduler = "scheduler ";
constexpr std::string_view kEndOfKey = "-----END PRIVATE KEY-----\n";
constexpr std::string_view kEndOfCertificate = "-----END CERTIFICATE-----\n";
constexpr const char* kInvite =
    "an operator invites this node with `glim admin node invite`: run the line that it prints here";

Status Bad(const std::string& path, const std::string& why) {
  return Status(StatusCode::kFailedPrecondition, path + ": " + why).WithReason("BAD_IDENTITY").WithFix(kInvite);
}

Status NotEnrolled(const std::string& path) {
  return Status(StatusCode::kFailedPrecondition, "this node is not enrolled: there is no " + path)
      .WithReason("NOT_ENROLLED")
      .WithField("--state-dir")
      .WithFix(std::string(kInvite) +
               ". A scheduler that runs without identity takes an agent with --insecure-without-identity");
}

// What stands before the end of `mark`, that included; `text` goes on behind it. Empty: `mark` is not there.
std::string_view TakeTo(std::string_view mark, std::string_view* text) {
  const std::size_t at = text->find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view taken = text->substr(0, at + mark.size());
  text->remove_prefix(taken.size());
  return taken;
}

Result<NodeCredentials> FromText(std::string_view text) {
  const std::string_view key_text = TakeTo(kEndOfKey, &text), own_text = TakeTo(kEndOfCertificate, &text);
  auto key = pki::PrivateKey::FromPem(key_text);
  if (!key.ok()) return key.status();
  auto own = pki::Certificate::FromPem(own_text);
  if (!own.ok()) return own.status();
  auto authorities = pki::ReadCertificates(text);
  if (!authorities.ok()) return authorities.status();
  if (!own->IsFor(pki::PublicHalf(*key)) || !pki::NodeNameOf(*own)) {
    return InvalidArgument("certificate", "its key and its certificate do not belong together");
  }
  return NodeCredentials{std::move(key).value(), std::move(own).value(), std::move(authorities).value()};
}

}  // namespace

Result<NodeCredentials> IdentityFolder::Read() const {
  const std::string path = path_ + "/" + kFile;
  struct stat info {};
  if (::lstat(path_.c_str(), &info) != 0) {
    return errno == ENOENT ? NotEnrolled(path) : FileError("look at", path_, errno);
  }
  // A file that is ours alone in a folder that is not may be another identity of this machine, put there by others.
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077U) != 0) {
    return Status(StatusCode::kPermissionDenied, path_ + " is not a private folder of ours")
        .WithReason("NOT_PRIVATE")
        .WithField(path_)
        .WithFix("let it belong to this program's user with mode 0700");
  }
  const auto text = ReadPrivateFile(path, kFileMax);
  if (!text.ok()) return text.status().code() == StatusCode::kNotFound ? NotEnrolled(path) : text.status();
  auto read = FromText(*text);
  return read.ok() ? read : Bad(path, read.status().message());
}

Result<IdentityDraft> IdentityFolder::Begin() const {
  if (Status status = MakePrivateFolder(path_); !status.ok()) return status;
  auto lock = ProcessLock::Take(path_ + "/lock");
  if (!lock.ok()) {
    if (lock.status().code() != StatusCode::kAlreadyExists) return lock.status();
    return Status(StatusCode::kAborted, "another process writes this node's identity just now: it has " + path_)
        .WithReason("IDENTITY_BUSY")
        .WithField("--state-dir")
        .WithFix("try again when it has ended");
  }
  auto spare = std::make_unique<SpareFile>(path_ + "/" + kSpare, kFileMax);
  if (Status status = spare->Take(); !status.ok()) return status;
  return IdentityDraft(std::move(lock).value(), std::move(spare), path_ + "/" + kFile);
}

IdentityDraft::~IdentityDraft() {
  if (spare_ && spare_->held()) spare_->Drop();
}

Status IdentityDraft::Become(const NodeCredentials& credentials, const std::string& scheduler) {
  const std::string text = std::string(kScheduler) + scheduler + "\n" + credentials.key.Pem() +
                           credentials.certificate.Pem() + pki::PemOf(credentials.authorities);
  if (Escaped(scheduler) != scheduler || text.size() > kFileMax) {
    return InvalidArgument("listen_agents", "what the scheduler answers does not fit into this node's identity");
  }
  return spare_->Write(path_, text, Durability::kMachine);
}

std::string IdentityFolder::Scheduler() const {
  const auto text = ReadPrivateFile(path_ + "/" + kFile, kFileMax);
  if (!text.ok() || !text->starts_with(kScheduler)) return "";
  return text->substr(kScheduler.size(), text->find('\n') - kScheduler.size());
}

std::uint64_t IdentityFolder::Version() const {
  struct stat info {};
  if (::stat((path_ + "/" + kFile).c_str(), &info) != 0) return 0;
  const auto at = static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000 +
                  static_cast<std::uint64_t>(info.st_mtim.tv_nsec);
  return at ^ (static_cast<std::uint64_t>(info.st_ino) << 1) ^ 1;
}

TimePoint WallTime() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return TimePoint{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
}

}  // namespace glim::nodeagent
