#include "scheduler/core/model/allowed_paths.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "scheduler/core/model/image_name.h"

namespace glim::core {
namespace {

constexpr std::size_t kFoldersNamedMax = 8;

void ReplaceAll(std::string* text, const std::string& from, const std::string& to) {
  for (std::size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

// As far as it is known before the job has a number.
std::string CheckpointDirOf(const JobSpec& spec) {
  std::string dir = spec.checkpoint_dir;
  ReplaceAll(&dir, "${GLIM_JOB_NAME}", spec.name);
  ReplaceAll(&dir, "$GLIM_JOB_NAME", spec.name);
  return dir;
}

std::string NodesOf(std::size_t n) { return std::to_string(n) + (n == 1 ? " node" : " nodes"); }

// "use a folder below one of: /data, /home"; `lists` are not empty.
// Those that lie in others are not named.
std::string FoldersFix(std::set<std::string> folders) {
  std::erase_if(folders, [&](const std::string& folder) {
    return std::any_of(folders.begin(), folders.end(),
                       [&](const std::string& other) { return other != folder && IsWithin(folder, other); });
  });
  std::string fix = "use a folder below one of: ";
  std::size_t named = 0;
  for (const std::string& folder : folders) {
    if (named == kFoldersNamedMax) return fix + " and " + std::to_string(folders.size() - named) + " more";
    fix += (named++ > 0 ? ", " : "") + folder;
  }
  return fix;
}

}  // namespace

bool IsWithin(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

bool IsOfTheImage(const std::string& path) {
  static const char* const kFolders[] = {"/usr",   "/etc",    "/opt",  "/bin", "/sbin", "/lib", "/lib32",
                                         "/lib64", "/libx32", "/proc", "/sys", "/dev",  "/run"};
  return path == "/tmp" || std::any_of(std::begin(kFolders), std::end(kFolders),
                                       [&](const char* folder) { return IsWithin(path, folder); });
}

std::vector<NamedPath> PathsOnNodes(const JobSpec& spec) {
  std::vector<NamedPath> paths;
  const auto add_unless_seen = [&](const char* field, std::string path) {
    const bool mounted = std::any_of(spec.mounts.begin(), spec.mounts.end(),
                                     [&](const Mount& mount) { return IsWithin(path, mount.target); });
    if (!path.empty() && path != "/" && !mounted && !IsOfTheImage(path)) paths.push_back({field, std::move(path)});
  };
  if (spec.snapshot.path.empty()) add_unless_seen("workdir", spec.workdir);
  add_unless_seen("checkpoint.dir", CheckpointDirOf(spec));
  for (std::size_t i = 0; i < spec.mounts.size(); ++i) {
    paths.push_back({"mounts[" + std::to_string(i) + "].source", spec.mounts[i].source});
  }
  const Result<ImageName> image = ParseImageName(spec.image);
  if (image.ok() && !image->path.empty()) paths.push_back({"image", image->path});
  return paths;
}

bool Gives(const std::vector<std::string>& folders, const std::string& path) {
  return folders.empty() ||
         std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) { return IsWithin(path, folder); });
}

std::vector<bool> ListsThatGive(const PoolLayout& pool, const JobSpec& spec) {
  if (pool.folder_lists.size() == 1 && pool.folder_lists[0].empty()) return {};
  const std::vector<NamedPath> paths = PathsOnNodes(spec);
  std::vector<bool> give;
  for (const std::vector<std::string>& folders : pool.folder_lists) {
    give.push_back(
        std::all_of(paths.begin(), paths.end(), [&](const NamedPath& named) { return Gives(folders, named.path); }));
  }
  return std::count(give.begin(), give.end(), false) == 0 ? std::vector<bool>() : give;
}

Status CheckPaths(const PoolLayout& pool, const std::vector<const NodeKind*>& fitting, const JobSpec& spec) {
  if (ListsThatGive(pool, spec).empty()) return Status::Ok();
  std::vector<bool> still(fitting.size(), true);  // give all that was looked at so far
  for (const NamedPath& named : PathsOnNodes(spec)) {
    std::size_t nodes = 0;
    std::set<std::string> folders;
    for (std::size_t i = 0; i < fitting.size(); ++i) {
      const std::vector<std::string>& given = pool.folder_lists[fitting[i]->folders];
      folders.insert(given.begin(), given.end());
      still[i] = still[i] && Gives(given, named.path);
      if (still[i]) nodes += fitting[i]->nodes;
    }
    if (nodes >= spec.nodes) continue;
    const std::string what = named.field + " " + named.path;
    std::string message = what + " is in no folder that the nodes of pool " + spec.pool + " give to jobs";
    if (nodes > 0) {
      message = "only " + NodesOf(nodes) + " of pool " + spec.pool + " give the job " + what +
                " and what else it names, " + std::to_string(spec.nodes) + " are needed";
    }
    return Status(StatusCode::kFailedPrecondition, std::move(message))
        .WithReason("INFEASIBLE")
        .WithField(named.field)
        .WithFix(FoldersFix(folders));
  }
  return Status::Ok();
}

}  // namespace glim::core
