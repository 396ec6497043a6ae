#include "nodeagent/programs/health/disk_source.h"

#include <sys/statvfs.h>

#include <memory>
#include <string>

#include "nodeagent/health/disk_rules.h"
#include "nodeagent/programs/health/kernel_folder.h"
#include "nodeagent/programs/health/write_probe.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::chrono::seconds kDisksEvery{10};
constexpr std::chrono::seconds kDisksDeadline{30};
constexpr std::chrono::minutes kWritesEvery{10};
constexpr std::chrono::seconds kWriteGivenUp{30};

Looks LookAtFolders(const std::vector<std::string>& folders) {
  Looks looks;
  for (const std::string& folder : folders) {
    struct statvfs info {};
    if (::statvfs(folder.c_str(), &info) != 0) continue;
    const auto bytes = [&](std::uint64_t blocks) { return static_cast<std::int64_t>(blocks * info.f_frsize); };
    looks.Add(LookAtRoom(folder, bytes(info.f_bavail), bytes(info.f_blocks)));
  }
  return looks;
}

}  // namespace

Source DiskSource(const HealthOptions& options) {
  return {"disks", options.Every(kDisksEvery), options.Within(kDisksDeadline),
          [root = options.root, folders = options.folders](Memory& memory) {
            const KernelFolder proc(root + "/proc");
            Looks looks = LookAtMounts(proc.Text("mounts").value_or(""), memory);
            looks.Add(LookAtFolders(folders));
            return looks;
          }};
}

// It gives up by itself: a write that hangs is disk_slow, and not health_blind.
Source WriteSource(const HealthOptions& options) {
  const auto probes = std::make_shared<std::vector<WriteProbe>>();
  for (const std::string& folder : options.folders) probes->emplace_back(folder, options.Within(kWriteGivenUp));
  return {"writes", options.Every(kWritesEvery), kWriteGivenUp * (1 + static_cast<int>(options.folders.size())),
          [probes](Memory&) {
            Looks looks;
            for (WriteProbe& probe : *probes) looks.Add(probe.Look());
            return looks;
          }};
}

}  // namespace glim::nodeagent::health
