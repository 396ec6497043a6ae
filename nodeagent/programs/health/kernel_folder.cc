#include "nodeagent/programs/health/kernel_folder.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "nodeagent/health/text_scan.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

}  // namespace

KernelFolder::KernelFolder(const std::string& path) : fd_(::open(path.c_str(), kFolderFlags)) {}

KernelFolder KernelFolder::Folder(const std::string& name) const {
  return KernelFolder(UniqueFd(::openat(fd_.get(), name.c_str(), kFolderFlags)));
}

std::optional<std::string> KernelFolder::Text(const std::string& name) const {
  const UniqueFd file(::openat(fd_.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file || ReadAll(file.get(), kFileBytesMax, text) != 0) return std::nullopt;
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::optional<std::int64_t> KernelFolder::Number(const std::string& name) const {
  const std::optional<std::string> text = Text(name);
  return text ? NumberIn(*text) : std::nullopt;
}

std::vector<std::string> KernelFolder::Names() const {
  std::vector<std::string> names;
  DIR* const folder = fd_ ? ::fdopendir(::openat(fd_.get(), ".", kFolderFlags)) : nullptr;
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace glim::nodeagent::health
