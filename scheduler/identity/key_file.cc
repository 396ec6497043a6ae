#include "scheduler/identity/key_file.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>

#include "sdk/base/check.h"
#include "sdk/base/hex.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/private_file.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::identity {
namespace {

constexpr std::size_t kDigits = 2 * ClusterKey::kBytes;
constexpr std::size_t kFileBytesMax = 1024;

void Wipe(std::string* text) { OPENSSL_cleanse(text->data(), text->size()); }

int ValueOf(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

// False: these are not 64 lower-case digits with at most a newline behind them.
bool ReadDigits(std::string_view text, ClusterKey::Bytes* bytes) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() != kDigits) return false;
  for (std::size_t i = 0; i < bytes->size(); ++i) {
    const int high = ValueOf(text[2 * i]);
    const int low = ValueOf(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    (*bytes)[i] = static_cast<std::byte>(16 * high + low);
  }
  return true;
}

Status MakeKeyFile(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (folder.size() > 1 && ::access(folder.c_str(), F_OK) != 0) {
    if (Status status = MakeFolders(folder.substr(0, slash)); !status.ok()) return status;
    // The file is private, not the folder: in /etc/glim lies what everybody reads, too.
    if (::chmod(folder.c_str(), 0755) != 0) return FileError("open", folder, errno);
  }
  const UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return FileError("open", folder, errno);
  std::string text = RandomHex(ClusterKey::kBytes) + "\n";
  // Made under its name as a whole or not at all; another that was there first stays.
  const Result<bool> made =
      CreateFileIn(opened.get(), path.substr(slash + 1), text, {.durability = Durability::kMachine, .mode = 0600});
  Wipe(&text);
  return made.ok() ? Status::Ok() : made.status();
}

}  // namespace

ClusterKey::ClusterKey(const Bytes& bytes)
    : bytes_(new Bytes(bytes), [](Bytes* gone) {
        OPENSSL_cleanse(gone->data(), gone->size());
        delete gone;
      }) {}

std::string ClusterKey::Id() const {
  std::string text = "glim cluster key\n";
  std::for_each(bytes_->begin(), bytes_->end(), [&](std::byte byte) { text += static_cast<char>(byte); });
  std::array<unsigned char, 32> digest{};
  unsigned size = 0;
  GLIM_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1,
             "SHA-256 is always there");
  Wipe(&text);
  return HexText(std::span(digest).first(4));
}

Result<ClusterKey> ReadClusterKey(const std::string& path) {
  Result<std::string> text = ReadPrivateFile(path, kFileBytesMax);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
    return Status(StatusCode::kNotFound, "there is no key file " + path)
        .WithReason("NO_KEY_FILE")
        .WithField(path)
        .WithFix(
            "copy it from the scheduler's host or from its backup: without it nothing that is sealed in the "
            "store can be opened");
  }
  const bool too_long = !text.ok() && text.status().code() == StatusCode::kResourceExhausted;
  if (!text.ok() && !too_long) return text.status();
  ClusterKey::Bytes bytes{};
  const bool good = !too_long && ReadDigits(*text, &bytes);
  if (!too_long) Wipe(&*text);
  if (!good) {
    return Status(StatusCode::kInvalidArgument, path + " is no key file: it has to hold 64 hexadecimal digits")
        .WithReason("BAD_KEY_FILE")
        .WithField(path)
        .WithFix("copy it from the scheduler's host or from its backup");
  }
  const ClusterKey key(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return key;
}

Result<ClusterKey> ReadOrMakeClusterKey(const std::string& path) {
  Result<ClusterKey> key = ReadClusterKey(path);
  if (key.ok() || key.status().reason() != "NO_KEY_FILE") return key;
  if (Status status = MakeKeyFile(path); !status.ok()) return status;
  return ReadClusterKey(path);
}

}  // namespace glim::identity
