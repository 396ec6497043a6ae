#include "sdk/checkpoint/replica/token.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <cstring>

#include "sdk/base/check.h"
#include "sdk/base/hex.h"
#include "sdk/io/io_error.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/socket.h"

namespace glim::checkpoint {
namespace {

Proof Hmac(const std::string& key, const std::string& text) {
  Proof digest;
  unsigned bytes = 0;
  const unsigned char* made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
           text.size(), reinterpret_cast<unsigned char*>(digest.data()), &bytes);
  GLIM_CHECK(made != nullptr && bytes == digest.size(), "HMAC-SHA-256 is always there");
  return digest;
}

std::string Text(const Nonce& nonce) { return {reinterpret_cast<const char*>(nonce.data()), nonce.size()}; }

}  // namespace

Result<std::string> ReadSecret(int descriptor) {
  const UniqueFd owned(descriptor);
  std::string text;
  const int error = ReadAll(descriptor, kSecretBytesMax + 1, text);  // a line's end may come on top
  if (error != 0 && error != EFBIG) {
    return Status(StatusCode::kNotFound, IoError(error, "read the secret").message());
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  if (text.size() < kSecretBytesMin || text.size() > kSecretBytesMax) {
    return InvalidArgument("secret", "it has to be of 16 to 4096 bytes", "head -c 32 /dev/urandom | base64");
  }
  return text;
}

Result<std::string> ReadSecret(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Status(StatusCode::kNotFound, path + ": " + std::strerror(errno));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Status(StatusCode::kPermissionDenied, path + " can be read or changed by others than its owner")
        .WithField("secret_file")
        .WithFix("chmod 600 " + path);
  }
  return ReadSecret(file.Release());
}

std::string JobToken(const std::string& secret, const std::string& job) {
  return HexText(Hmac(secret, "glim-replica job " + job));
}

Proof Prove(const std::string& token, Side side, const std::string& job, const Nonce& client, const Nonce& service) {
  return Hmac(token, static_cast<char>(side) + Text(client) + Text(service) + job);
}

bool Same(const Proof& a, const Proof& b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

Nonce MakeNonce() {
  Nonce nonce;
  FillRandomly(nonce);
  return nonce;
}

}  // namespace glim::checkpoint
