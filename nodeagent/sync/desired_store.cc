#include "nodeagent/sync/desired_store.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "nodeagent/task/sealed_file.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kDesiredBytesMax = 64 * 1024 * 1024;
constexpr std::size_t kClusterBytesMax = 1024;
constexpr std::size_t kClusterNameMax = 63;

// A file is one line "MAGIC 1 CHECKSUM NOTE" and the body; the checksum is of note and body.
constexpr const char* kDesiredMagic = "glim-desired ";
constexpr const char* kClusterMagic = "glim-cluster ";
constexpr const char* kFormat = "1 ";
constexpr std::size_t kDigits = 16;

struct Sealed {
  std::string note;
  std::string body;
};

std::string Seal(const std::string& magic, const std::string& note, const std::string& body) {
  const std::string rest = note + "\n" + body;
  return magic + kFormat + ChecksumText(rest) + " " + rest;
}

// Cut off within the magic word, too.
bool IsBegunLike(const std::string& bytes, const std::string& magic) {
  const std::size_t size = std::min(bytes.size(), magic.size());
  return bytes.compare(0, size, magic, 0, size) == 0;
}

Result<Sealed> Open(const std::string& path, const std::string& bytes, const std::string& magic) {
  const Status damaged(StatusCode::kDataLoss, path + " is damaged: its checksum is not that of its bytes");
  const std::string begin = magic + kFormat;
  if (bytes.size() >= begin.size() && bytes.starts_with(magic) && !bytes.starts_with(begin)) {
    return Status(StatusCode::kFailedPrecondition, path + " is of a format that this version does not know");
  }
  const std::size_t rest = begin.size() + kDigits + 1;
  const std::size_t line_end = bytes.find('\n');
  if (!bytes.starts_with(begin) || bytes.size() < rest || line_end == std::string::npos || line_end < rest) {
    return damaged;
  }
  if (bytes.substr(begin.size(), kDigits) != ChecksumText(std::string_view(bytes).substr(rest))) return damaged;
  return Sealed{bytes.substr(rest, line_end - rest), bytes.substr(line_end + 1)};
}

bool IsClusterName(const std::string& text) {
  return !text.empty() && text.size() <= kClusterNameMax && !IsBegunLike(text, kClusterMagic) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; });
}

void SetAsideAndLog(const std::string& state_dir, const std::string& path, const Status& why) {
  const std::string place = SetAside(state_dir, path);
  LogError("event=file_set_aside path={} now={} reason={}", Quoted(path), Quoted(place), Quoted(why.message()));
}

}  // namespace

// Empty: nobody's, or what says whose it is cannot be used.
std::string DesiredStore::ReadOwner(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kClusterBytesMax);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return "";
  if (text.ok() && IsClusterName(*text)) return *text;  // an earlier version wrote the name alone
  Result<Sealed> sealed = text.ok() ? Open(path, *text, kClusterMagic) : Result<Sealed>(text.status());
  if (sealed.ok()) return sealed->body;
  SetAsideAndLog(state_dir_, path, sealed.status());
  return "";
}

Result<std::string> DesiredStore::Claim(const std::string& cluster_id) {
  const std::string path = state_dir_ + "/cluster";
  const std::string owner = ReadOwner(path);
  if (owner.empty() && cluster_id.empty()) {
    return InvalidArgument("--cluster-id", "--cluster-id is missing", "`glim version` shows the cluster's id");
  }
  if (owner.empty()) {
    const Status written = WriteFileAtomically(path, Seal(kClusterMagic, "", cluster_id), Durability::kMachine);
    return written.ok() ? Result<std::string>(cluster_id) : Result<std::string>(written);
  }
  if (cluster_id.empty() || owner == cluster_id) return owner;
  return Status(StatusCode::kFailedPrecondition, state_dir_ + " belongs to cluster " + owner + ", not to " + cluster_id)
      .WithField("--cluster-id")
      .WithFix("give each cluster's agent a --state-dir of its own");
}

DesiredStore::Kept DesiredStore::Load() {
  Kept kept;
  const std::string path = state_dir_ + "/desired.pb";
  const Result<std::string> bytes = ReadFile(path, kDesiredBytesMax);
  if (!bytes.ok() && bytes.status().code() == StatusCode::kNotFound) return kept;
  Result<Sealed> sealed = bytes.ok() ? Open(path, *bytes, kDesiredMagic) : Result<Sealed>(bytes.status());
  // An earlier version wrote the message alone, which never begins like the seal.
  const bool is_old = bytes.ok() && !bytes->empty() && !IsBegunLike(*bytes, kDesiredMagic);
  if (is_old) sealed = Sealed{"", *bytes};
  if (sealed.ok() && kept.set.ParseFromString(sealed->body)) {
    kept.boot_id = sealed->note;
    return kept;
  }
  SetAsideAndLog(state_dir_, path, sealed.ok() ? Status(StatusCode::kDataLoss, "it cannot be read") : sealed.status());
  return {};
}

Status DesiredStore::Save(const v1::DesiredState& set, const std::string& boot_id, bool durable, SpareFile& spare) {
  return spare.Write(state_dir_ + "/desired.pb", Seal(kDesiredMagic, boot_id, set.SerializeAsString()),
                     durable ? Durability::kMachine : Durability::kProcess);
}

}  // namespace glim::nodeagent
