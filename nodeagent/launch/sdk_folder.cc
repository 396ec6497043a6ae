#include "nodeagent/launch/sdk_folder.h"

#include <unistd.h>

#include <filesystem>

#include "nodeagent/confinement/confinement.h"
#include "nodeagent/sync/wire.h"
#include "sdk/log/log.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kBesidePrograms = "../share/glim/sdk";
constexpr const char* kParts[] = {"/python/glim/__init__.py", "/bin/glim-task"};

// What of it is missing; empty: nothing.
std::string MissingIn(const std::string& sdk) {
  for (const char* part : kParts) {
    if (::access((sdk + part).c_str(), R_OK) != 0) return sdk + part;
  }
  return "";
}

void AppendFolder(std::map<std::string, std::string>* env, const char* variable, const std::string& folder) {
  std::string& list = (*env)[variable];
  if (folder.empty() || (":" + list + ":").find(":" + folder + ":") != std::string::npos) return;
  list += (list.empty() ? "" : ":") + folder;
}

}  // namespace

Status CompleteSdk(const std::string& program_folder, AgentOptions* options) {
  std::string& sdk = options->sdk;
  if (sdk == "none") {
    sdk.clear();
    return Status::Ok();
  }
  const bool is_named = !sdk.empty();
  if (!is_named) sdk = (std::filesystem::path(program_folder) / kBesidePrograms).lexically_normal().string();
  std::error_code error;
  const std::string real = std::filesystem::canonical(sdk, error).string();
  const std::string missing = error ? sdk : MissingIn(real);
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

Status AddSdk(const AgentOptions& options, std::map<std::string, std::string>* env) {
  if (options.sdk.empty()) {
    AppendFolder(env, "PATH", std::filesystem::path(options.shim).parent_path().string());
    return Status::Ok();
  }
  if (const std::string missing = MissingIn(options.sdk); !missing.empty()) {
    return Status(StatusCode::kFailedPrecondition, "this node's SDK is gone: there is no " + missing)
        .WithFix("install it again, or restart the node's agent with another --sdk");
  }
  const std::string seen = options.runtime == "runc" ? kSdkTarget : options.sdk;
  (*env)["GLIM_SDK"] = seen;
  AppendFolder(env, "PYTHONPATH", seen + "/python");
  AppendFolder(env, "PATH", seen + "/bin");
  return Status::Ok();
}

}  // namespace glim::nodeagent
