#include "nodeagent/programs/image/image_config.h"

#include <sys/utsname.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "scheduler/core/model/spec_limits.h"
#include "sdk/base/printable.h"
#include "sdk/base/snapshot_name.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;

constexpr std::size_t kJsonBytesMax = 4 << 20;
constexpr std::size_t kVariablesMax = 256;
constexpr std::size_t kVariableBytesMax = 64 << 10;  // in all
constexpr const char* kTagKey = "org.opencontainers.image.ref.name";
constexpr std::string_view kSha256 = "sha256:";

Status Unfit(const std::string& what, const std::string& fix = "build it anew") {
  return InvalidArgument("image", "the image " + what, fix);
}

Result<json> ReadJson(const std::string& path, const char* what) {
  const Result<std::string> text = ReadFile(path, kJsonBytesMax);
  if (!text.ok()) return Unfit(std::string("has no ") + what + " that can be read");
  json value = json::parse(*text, nullptr, false);
  if (!value.is_object()) return Unfit(std::string("has a ") + what + " that is no JSON object");
  return value;
}

Result<std::string> BlobOf(const std::string& folder, const json& descriptor) {
  const std::string digest = descriptor.value("digest", "");
  if (!digest.starts_with(kSha256) || !IsSha256(digest.substr(kSha256.size())))
    return Unfit("names a blob without SHA-256");
  return folder + "/blobs/sha256/" + digest.substr(kSha256.size());
}

std::optional<json> ManifestIn(const json& index, const std::string& tag) {
  const json manifests = index.value("manifests", json::array());
  for (const json& entry : manifests) {
    const json notes = entry.is_object() ? entry.value("annotations", json::object()) : json();
    if (notes.is_object() && notes.value(kTagKey, "") == tag) return entry;
  }
  return std::nullopt;
}

Status TakeVariables(const json& list, ImageFacts* facts) {
  if (!list.is_array()) return Unfit("has an environment that is no list");
  std::size_t bytes = 0;
  for (const json& entry : list) {
    const std::string text = entry.get<std::string>();
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    bytes += text.size();
    const bool is_name = !name.empty() && name.find_first_of(" \t\r\n") == std::string::npos;
    if (equals == std::string::npos || !is_name || text.find('\0') != std::string::npos) {
      return Unfit("has an environment with '" + EscapedStart(text, 64) + "', which is no variable");
    }
    facts->env.emplace_back(name, text.substr(equals + 1));
  }
  if (facts->env.size() <= kVariablesMax && bytes <= kVariableBytesMax) return Status::Ok();
  return Unfit("has too large an environment: " + std::to_string(facts->env.size()) + " variables of " +
               std::to_string(bytes) + " bytes");
}

Status TakeConfig(const json& config, ImageFacts* facts) {
  const std::string machine = config.value("architecture", ""), system = config.value("os", "");
  if (machine != OwnArchitecture() || system != "linux") {
    return Unfit("is for " + EscapedStart(system + "/" + machine, 64) + ", and this node is linux/" + OwnArchitecture(),
                 "use one that is for this machine");
  }
  const json run = config.value("config", json::object());
  const json env = run.value("Env", json::array());
  if (Status status = TakeVariables(env.is_null() ? json::array() : env, facts); !status.ok()) return status;
  facts->workdir = run.value("WorkingDir", "");
  if (facts->workdir.empty() || facts->workdir == "/" || core::IsPlainAbsolutePath(facts->workdir)) return Status::Ok();
  return Unfit("has a working directory, '" + EscapedStart(facts->workdir, 64) + "', that is no plain absolute path");
}

Result<ImageFacts> Read(const std::string& folder, const std::string& tag) {
  const Result<json> index = ReadJson(folder + "/index.json", "index");
  if (!index.ok()) return index.status();
  const std::optional<json> descriptor = ManifestIn(*index, tag);
  if (!descriptor) return Unfit("is not in its layout");
  const Result<std::string> manifest_path = BlobOf(folder, *descriptor);
  if (!manifest_path.ok()) return manifest_path.status();
  const Result<json> manifest = ReadJson(*manifest_path, "manifest");
  if (!manifest.ok()) return manifest.status();
  const Result<std::string> config_path = BlobOf(folder, manifest->value("config", json::object()));
  if (!config_path.ok()) return config_path.status();
  const Result<json> config = ReadJson(*config_path, "configuration");
  if (!config.ok()) return config.status();
  ImageFacts facts;
  facts.digest = descriptor->value("digest", "");
  if (Status status = TakeConfig(*config, &facts); !status.ok()) return status;
  return facts;
}

}  // namespace

std::string OwnArchitecture() {
  utsname own{};
  ::uname(&own);
  const std::string machine = own.machine;
  if (machine == "x86_64") return "amd64";
  return machine == "aarch64" ? "arm64" : machine;
}

Result<ImageFacts> ReadImageConfig(const std::string& folder, const std::string& tag) {
  try {
    return Read(folder, tag);
  } catch (const json::exception& error) {
    return Unfit(std::string("has fields that are not as they have to be: ") + error.what());
  }
}

}  // namespace glim::nodeagent
