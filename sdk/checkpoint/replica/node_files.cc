#include "sdk/checkpoint/replica/node_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"
#include "sdk/tokens/replica_token.h"

namespace glim::checkpoint {
namespace {

constexpr std::size_t kAddressBytesMax = 320;

Status BadLine(const char* file, std::string_view what) {
  return InvalidArgument(file, std::string(file) + ": " + std::string(what));
}

// The next line as word and rest; false: there is none.
bool NextLine(std::string_view* text, std::string_view* word, std::string_view* rest) {
  if (text->empty()) return false;
  const std::string_view line = text->substr(0, text->find('\n'));
  text->remove_prefix(std::min(text->size(), line.size() + 1));
  const std::size_t blank = line.find(' ');
  *word = line.substr(0, blank);
  *rest = blank == std::string_view::npos ? "" : line.substr(blank + 1);
  return true;
}

bool IsSameFile(const struct ::stat& a, const struct ::stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

bool IsPlain(std::string_view text, std::size_t bytes_max) {
  if (text.empty() || text.size() > bytes_max) return false;
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

}  // namespace

std::string TextOf(const ReplicaIssuers& issuers) {
  std::string text = "cluster " + issuers.cluster + "\n";
  text += std::string("private_fabric ") + (issuers.private_fabric ? "1" : "0") + "\n";
  for (const Ed25519Key& key : issuers.keys) text += "key " + KeyText(key) + "\n";
  return text;
}

Result<ReplicaIssuers> ParseIssuers(std::string_view text) {
  ReplicaIssuers issuers;
  std::string_view word, rest;
  while (NextLine(&text, &word, &rest)) {
    if (word == "cluster" && IsPlain(rest, kClaimTextBytesMax)) {
      issuers.cluster = rest;
    } else if (word == "private_fabric" && (rest == "0" || rest == "1")) {
      issuers.private_fabric = rest == "1";
    } else if (const auto key = word == "key" ? ParseKey(rest) : std::nullopt; key.has_value()) {
      issuers.keys.push_back(*key);
    } else {
      return BadLine("keys", "a line that is none of cluster, private_fabric and key");
    }
  }
  if (issuers.cluster.empty()) return BadLine("keys", "it names no cluster");
  return issuers;
}

const ReplicaIssuers& IssuersFile::Now() {
  struct stat now {};
  if (::stat(path_.c_str(), &now) != 0) return issuers_;
  if (IsSameFile(now, seen_)) return issuers_;
  const Result<std::string> text = ReadFile(path_, kNodeFileBytesMax);
  // What is wrong with the file stays wrong; that it could not be read may pass.
  if (text.ok()) seen_ = now;
  Result<ReplicaIssuers> read = text.ok() ? ParseIssuers(*text) : Result<ReplicaIssuers>(text.status());
  if (read.ok()) {
    issuers_ = std::move(read).value();
  } else if (log_ && !IsSameFile(now, told_)) {
    log_(path_ + " is left as it was: " + read.status().message());
    told_ = now;
  }
  return issuers_;
}

std::string TextOf(const ReplicaState& state) {
  return "address " + state.address + "\nkey " + KeyText(state.key) + "\ninstance " + std::to_string(state.instance) +
         "\n";
}

Result<ReplicaState> ParseState(std::string_view text) {
  ReplicaState state;
  bool has_key = false;
  std::string_view word, rest;
  while (NextLine(&text, &word, &rest)) {
    const auto key = word == "key" ? ParseKey(rest) : std::nullopt;
    if (word == "address" && IsPlain(rest, kAddressBytesMax)) {
      state.address = rest;
    } else if (key.has_value()) {
      state.key = *key;
      has_key = true;
    } else if (word == "instance") {
      const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), state.instance);
      if (read.ec != std::errc() || read.ptr != rest.data() + rest.size()) return BadLine("state", "no instance");
    } else {
      return BadLine("state", "a line that is none of address, key and instance");
    }
  }
  if (state.address.empty() || !has_key) return BadLine("state", "it names no address or no key");
  return state;
}

Result<Ed25519Seed> ReadOrMakeSeed(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) {
    const Ed25519Seed seed = MakeEd25519Seed();
    const Status written = WriteFileAtomically(path, KeyText(seed) + "\n", Durability::kMachine);
    if (!written.ok()) return written;
    return seed;
  }
  struct stat info {};
  std::string text;
  if (!file || ::fstat(file.get(), &info) != 0) return FileError("read", path, errno);
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Status(StatusCode::kPermissionDenied, path + " can be read or changed by others than its owner")
        .WithField("key_file")
        .WithFix("chmod 600 " + path);
  }
  if (const int error = ReadAll(file.get(), kNodeFileBytesMax, text); error != 0) return FileError("read", path, error);
  if (text.ends_with('\n')) text.pop_back();
  const auto seed = ParseKey(text);
  if (seed.has_value()) return *seed;
  return InvalidArgument("key_file", path + " holds no key", "remove it: the service makes another one");
}

Result<UniqueFd> PublishState(const std::string& path, const ReplicaState& state) {
  if (ReadState(path).ok()) {
    return Status(StatusCode::kFailedPrecondition, path + ": another glim-replica that runs has written it")
        .WithField("state_file")
        .WithFix("end that one, or give this one a file of its own");
  }
  // Locked before it has its name: whoever finds it there tries the lock.
  const std::string unnamed = path + ".new";
  const WriteOptions options{Durability::kProcess, 0644, /*sole_writer=*/true};
  if (Status written = WriteFileAtomically(unnamed, TextOf(state), options); !written.ok()) return written;
  UniqueFd file(::open(unnamed.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return FileError("lock", unnamed, errno);
  if (::rename(unnamed.c_str(), path.c_str()) != 0) return FileError("publish", path, errno);
  return file;
}

Result<ReplicaState> ReadState(const std::string& path) {
  const Status none(StatusCode::kNotFound, path + ": no glim-replica that runs has written it");
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return none;
  // The lock goes with its owner, however that ends.
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return none;
  std::string text;
  if (ReadAll(file.get(), kNodeFileBytesMax, text) != 0) return none;
  return ParseState(text);
}

}  // namespace glim::checkpoint
