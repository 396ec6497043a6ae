#include "nodeagent/options/sdk_folder.h"

#include <unistd.h>

#include <filesystem>

#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kBesidePrograms = "../share/glim/sdk";
constexpr const char* kParts[] = {"/python/glim/__init__.py", "/bin/glim-task"};

}  // namespace

Status CompleteSdk(const std::string& program_folder, std::string* completed) {
  std::string& sdk = *completed;
  if (sdk == "none") {
    sdk.clear();
    return Status::Ok();
  }
  const bool is_named = !sdk.empty();
  if (!is_named) sdk = (std::filesystem::path(program_folder) / kBesidePrograms).lexically_normal().string();
  std::error_code error;
  const std::string real = std::filesystem::canonical(sdk, error).string();
  const std::string missing = error ? sdk : MissingInSdk(real);
  if (missing.empty()) {
    sdk = real;
    return Status::Ok();
  }
  if (is_named) {
    return InvalidArgument("--sdk", "--sdk " + sdk + " is no SDK: there is no " + missing,
                           "name the folder share/glim/sdk of an installation or a build, or \"none\"");
  }
  LogWarning(
      "event=no_sdk missing={} note=\"tasks find neither `import glim` nor the SDK's glim-task; name the "
      "folder with --sdk, or say --sdk none\"",
      Quoted(missing));
  sdk.clear();
  return Status::Ok();
}

std::string MissingInSdk(const std::string& sdk) {
  for (const char* part : kParts) {
    if (::access((sdk + part).c_str(), R_OK) != 0) return sdk + part;
  }
  return "";
}

}  // namespace glim::nodeagent
