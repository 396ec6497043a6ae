#include "scheduler/core/model/image_name.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "scheduler/core/model/spec_limits.h"
#include "sdk/base/printable.h"
#include "sdk/base/snapshot_name.h"

namespace glim::core {
namespace {

constexpr std::size_t kShownMax = 100;
constexpr std::size_t kTagMax = 128;
constexpr std::string_view kDigest = "sha256:";
constexpr std::string_view kTransport = "docker://";

struct FileKind {
  std::string_view prefix;
  ImageKind kind;
};
constexpr FileKind kFileKinds[] = {
    {"oci:", ImageKind::kOciFolder}, {"docker-archive:", ImageKind::kDockerArchive}, {"sqfs:", ImageKind::kSquashfs}};

std::string Quoted(std::string_view text) { return "'" + EscapedStart(text, kShownMax) + "'"; }

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsHostChar(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '-'; }
bool IsTagChar(char c) { return IsHostChar(c) || c == '_'; }

bool IsTag(std::string_view tag) {
  return !tag.empty() && tag.size() <= kTagMax && std::all_of(tag.begin(), tag.end(), IsTagChar) && tag[0] != '.' &&
         tag[0] != '-';
}

bool IsDigest(std::string_view digest) {
  return digest.starts_with(kDigest) && IsSha256(digest.substr(kDigest.size()));
}

// HOST or HOST:PORT: with a dot or a port, or localhost, so that it is no part of a repository's name.
bool IsRegistry(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view host = text.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (host.empty() || host[0] == '-' || host[0] == '.' || !std::all_of(host.begin(), host.end(), IsHostChar)) {
    return false;
  }
  if (colon == std::string_view::npos) return host.find('.') != std::string_view::npos || host == "localhost";
  return !port.empty() && port.size() <= 5 && std::all_of(port.begin(), port.end(), is_digit);
}

// Words of small letters and digits, joined by single '.', '_' or '-' and by '/'; also "__" and "--".
bool IsRepository(std::string_view text) {
  if (text.empty()) return false;
  char before = '/';
  for (const char c : text) {
    if (!IsLower(c) && c != '.' && c != '_' && c != '-' && c != '/') return false;
    if ((before == '/' && !IsLower(c)) || (c == '/' && !IsLower(before))) return false;
    if (before == '.' && !IsLower(c)) return false;
    before = c;
  }
  return IsLower(before);
}

Status Refuse(const std::string& what, const std::string& fix) { return InvalidArgument("image", what, fix); }

Result<ImageName> ParseFile(const FileKind& kind, std::string_view text) {
  ImageName image;
  image.kind = kind.kind;
  std::string_view path = text.substr(kind.prefix.size());
  const std::size_t colon = kind.kind == ImageKind::kOciFolder ? path.rfind(':') : std::string_view::npos;
  if (colon != std::string_view::npos && path.find('/', colon) == std::string_view::npos) {
    image.tag = path.substr(colon + 1);
    path = path.substr(0, colon);
    if (!IsTag(image.tag)) return Refuse(Quoted(image.tag) + " is no tag", "write oci:/FOLDER:TAG, or oci:/FOLDER");
  }
  image.path = path;
  if (image.path.size() <= kSpecPathBytesMax && IsPlainAbsolutePath(image.path)) return image;
  return Refuse(Quoted(path) + " is not a plain absolute path",
                "write it like " + std::string(kind.prefix) + "/data/images/torch");
}

Result<ImageName> ParseRegistry(std::string_view text) {
  if (text.starts_with(kTransport)) text.remove_prefix(kTransport.size());
  ImageName image;
  image.kind = ImageKind::kRegistry;
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    image.digest = text.substr(at + 1);
    text = text.substr(0, at);
    if (!IsDigest(image.digest))
      return Refuse(Quoted(image.digest) + " is no digest", "write NAME@sha256:64 hex digits");
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !IsRegistry(text.substr(0, slash))) {
    return Refuse(Quoted(text) + " names no registry",
                  "write the registry first, as in docker.io/library/debian; or 'host', for the node's own system");
  }
  image.registry = text.substr(0, slash);
  std::string_view name = text.substr(slash + 1);
  if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
    image.tag = name.substr(colon + 1);
    name = name.substr(0, colon);
    if (!IsTag(image.tag)) return Refuse(Quoted(image.tag) + " is no tag", "write it like NAME:24.10-py3");
  }
  image.repository = name;
  if (!IsRepository(name)) {
    return Refuse(Quoted(name) + " is no name of an image", "use small letters, digits, '.', '_', '-' and '/'");
  }
  // What a tag stands for changes: every attempt is to run the same.
  if (!image.digest.empty()) return image;
  return Refuse("a tag alone is not enough yet: an image of a registry is named by its digest",
                "add what 'skopeo inspect --format {{.Digest}} docker://" + std::string(text) + "' prints, as in " +
                    std::string(text) + "@sha256:...");
}

}  // namespace

Result<ImageName> ParseImageName(const std::string& text) {
  if (text == kHostImage) return ImageName{};
  if (text.size() > kSpecPathBytesMax) {
    return Refuse(std::to_string(text.size()) + " bytes are too many",
                  "use at most " + std::to_string(kSpecPathBytesMax));
  }
  const std::string_view view = text;
  for (const FileKind& kind : kFileKinds) {
    if (view.starts_with(kind.prefix)) return ParseFile(kind, view);
  }
  return ParseRegistry(view);
}

}  // namespace glim::core
