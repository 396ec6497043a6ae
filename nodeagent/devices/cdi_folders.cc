#include "nodeagent/devices/cdi_folders.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "sdk/base/printable.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {
namespace {

// What is generated at each boot counts before what an operator wrote once (SPEC.md, "General considerations").
constexpr const char* kFolders[] = {"/var/run/cdi", "/etc/cdi"};
constexpr std::size_t kFilesMax = 64;  // of a folder

// Why somebody else than root could have written it; empty: nobody could.
std::string WhyNotTrusted(const struct stat& info) {
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) return "it belongs to uid " + std::to_string(info.st_uid);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others than its owner may write it";
  return "";
}

Result<std::string> ReadTrusted(int folder, const std::string& name) {
  const UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) {
    return Status(StatusCode::kFailedPrecondition, errno == ELOOP ? "it is a link" : std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return Status(StatusCode::kFailedPrecondition, "it is no file");
  if (const std::string why = WhyNotTrusted(info); !why.empty()) return Status(StatusCode::kFailedPrecondition, why);
  std::string text;
  const int error = ReadAll(file.get(), kCdiBytesMax, text);
  if (error == EFBIG) return Status(StatusCode::kFailedPrecondition, "it is larger than 1 MiB");
  if (error != 0) return Status(StatusCode::kFailedPrecondition, std::strerror(error));
  return text;
}

bool IsCdiFile(const std::string& name) {
  return name[0] != '.' && (name.ends_with(".json") || name.ends_with(".yaml") || name.ends_with(".yml"));
}

void ReadFolder(const std::string& root, const std::string& path, CdiFiles* all) {
  const UniqueFd folder(::open((root + path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == ENOENT) return;
  struct stat info {};
  if (!folder || ::fstat(folder.get(), &info) != 0) {
    all->refused.push_back(path + ": " + std::strerror(errno));
    return;
  }
  if (const std::string why = WhyNotTrusted(info); !why.empty()) {
    all->refused.push_back(path + ": " + why + ": none of its files counts");
    return;
  }
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(root + path, error), end; !error && it != end; it.increment(error)) {
    if (const std::string name = it->path().filename().string(); IsCdiFile(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  if (names.size() > kFilesMax) {
    all->refused.push_back(path + ": it has more than " + std::to_string(kFilesMax) +
                           " files: the others do not count");
    names.resize(kFilesMax);
  }
  for (const std::string& name : names) {
    const std::string file = path + "/" + name;
    const Result<std::string> text = ReadTrusted(folder.get(), name);
    Result<CdiSpec> spec = text.ok() ? ParseCdi(*text, file) : Result<CdiSpec>(text.status());
    if (spec.ok()) {
      all->files.push_back({file, std::move(*spec)});
    } else {
      all->refused.push_back(text.ok() ? spec.status().message() : file + ": " + spec.status().message());
    }
  }
}

const CdiDevice* Find(const CdiFile& file, const CdiName& name) {
  if (file.spec.kind != name.kind) return nullptr;
  const auto device = std::find_if(file.spec.devices.begin(), file.spec.devices.end(),
                                   [&](const CdiDevice& d) { return d.name == name.device; });
  return device == file.spec.devices.end() ? nullptr : &*device;
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool IsBelow(const std::string& path, const std::string& folder) { return path.starts_with(folder + "/"); }

// One file's edits, added to `out`.
class Edit {
 public:
  Edit(const CdiFile& file, const CdiRules& rules, NodeDevices* out) : file_(file), rules_(rules), out_(*out) {}

  Status Make(const CdiEdits& edits) {
    for (const CdiDeviceNode& node : edits.nodes) {
      if (Status status = AddNode(node); !status.ok()) return status;
    }
    for (const CdiMount& mount : edits.mounts) AddMount(mount);
    for (const auto& [name, value] : edits.env) {
      if (IsReservedVariable(name)) {
        Leave("the variable " + Printable(name), "it is Glim's");
      } else {
        out_.env.emplace_back(name, value);
      }
    }
    for (const std::string& hook : edits.hooks) Leave("the hook " + hook, "no program of a file is run as root");
    for (const std::string& name : edits.others) Leave(name, "this agent does not apply that");
    return Status::Ok();
  }

 private:
  void Leave(const std::string& what, const std::string& why) {
    out_.notes.push_back(file_.path + ": " + what + " is left out: " + why);
  }

  Status AddNode(const CdiDeviceNode& wanted) {
    if (!IsBelow(wanted.host_path, "/dev") || !IsBelow(wanted.path, "/dev")) {
      Leave("the device node " + Printable(wanted.path), "device nodes are in /dev");
      return Status::Ok();
    }
    Result<DeviceNode> node = LookAtDevice(rules_.root, wanted.host_path, wanted.path);
    if (!node.ok()) {
      return Status(StatusCode::kFailedPrecondition, file_.path + ": " + node.status().message())
          .WithFix("load the driver, or write the file anew: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml");
    }
    // The kernel's word: a file of before a restart may have numbers that another driver has now.
    const bool differs = (wanted.major && *wanted.major != node->major) ||
                         (wanted.minor && *wanted.minor != node->minor) ||
                         (!wanted.type.empty() && wanted.type != "p" && (wanted.type == "b") != (node->type == 'b'));
    if (differs || wanted.type == "p") {
      return Status(StatusCode::kFailedPrecondition,
                    file_.path + ": " + Printable(wanted.host_path) + " is another device than the file says: it is " +
                        node->type + " " + std::to_string(node->major) + ":" + std::to_string(node->minor))
          .WithFix("write the file anew: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml");
    }
    if (!wanted.permissions.empty()) {
      node->access.clear();  // nobody may make nodes, whatever the file says
      for (const char c : {'r', 'w'}) {
        if (wanted.permissions.find(c) != std::string::npos) node->access += c;
      }
    }
    if (node->access.empty()) return Status::Ok();
    NodeDevices one;
    one.nodes.push_back(std::move(*node));
    Join(std::move(one), &out_);
    return Status::Ok();
  }

  void AddMount(const CdiMount& wanted) {
    const std::string& target = wanted.container_path;
    if (IsSystemPath(target)) {
      // The image `host` shows the node's own folders: what is to be seen at its own place there is seen.
      if (target != wanted.host_path) Leave("the mount at " + Printable(target), "that folder is the node's own");
      return;
    }
    for (const char* folder : {"/dev", "/proc", "/sys", "/run/glim", "/run/glim-init", "/tmp"}) {
      if (target != folder && !IsBelow(target, folder)) continue;
      return Leave("the mount at " + Printable(target), std::string(folder) + " is the container's own");
    }
    NodeDevices one;
    one.files.push_back({rules_.root + wanted.host_path, target, wanted.read_only || !rules_.writable_mounts});
    Join(std::move(one), &out_);
  }

  const CdiFile& file_;
  const CdiRules& rules_;
  NodeDevices& out_;
};

}  // namespace

CdiFiles ReadCdiFiles(const std::string& root) {
  CdiFiles all;
  for (const char* folder : kFolders) ReadFolder(root, folder, &all);
  return all;
}

bool HasDevice(const CdiFiles& files, const CdiName& name) {
  return std::any_of(files.files.begin(), files.files.end(),
                     [&](const CdiFile& file) { return Find(file, name) != nullptr; });
}

Result<NodeDevices> ResolveCdi(const CdiFiles& files, const std::vector<CdiName>& names, const CdiRules& rules) {
  NodeDevices devices;
  devices.notes = files.refused;
  std::set<const CdiFile*> common;  // whose edits for all its devices are made
  for (const CdiName& name : names) {
    const std::string full = name.kind + "=" + name.device;
    std::vector<const CdiFile*> with;
    for (const CdiFile& file : files.files) {
      if (Find(file, name) != nullptr) with.push_back(&file);
    }
    if (with.empty()) {
      std::string why = "no CDI file of this node has the device " + full;
      for (const std::string& refused : files.refused) why += "; " + refused;
      return Status(StatusCode::kNotFound, why)
          .WithField("--devices")
          .WithFix("write the file (nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml), or name another device");
    }
    if (with.size() > 1 && FolderOf(with[0]->path) == FolderOf(with[1]->path)) {
      return Status(StatusCode::kFailedPrecondition,
                    with[0]->path + " and " + with[1]->path + " both have the device " + full)
          .WithField("--devices")
          .WithFix("remove one of them");
    }
    Edit edit(*with[0], rules, &devices);
    if (common.insert(with[0]).second) {
      if (Status status = edit.Make(with[0]->spec.edits); !status.ok()) return status;
    }
    if (Status status = edit.Make(Find(*with[0], name)->edits); !status.ok()) return status;
  }
  return devices;
}

}  // namespace glim::nodeagent
