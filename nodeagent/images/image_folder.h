// The folder of a node's images: for each KEY a squashfs file, KEY.sqsh, and what is known of it, KEY.json. Root's
// alone. glim-image writes there, one process a KEY at a time (KEY.lock); whoever reads sees whole images alone.
//
//   KEY.part, KEY.work   of an import that is under way, or was killed
//
// Blocking; stateless but for the folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "nodeagent/images/image_order.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

class ImageFolder {
 public:
  explicit ImageFolder(std::string path) : path_(std::move(path)) {}

  std::string FileOf(const std::string& key) const { return path_ + "/" + key + ".sqsh"; }
  std::string PartOf(const std::string& key) const { return path_ + "/" + key + ".part"; }
  std::string WorkOf(const std::string& key) const { return path_ + "/" + key + ".work"; }
  std::string LockOf(const std::string& key) const { return path_ + "/" + key + ".lock"; }

  // The image, if it is here; from now on it is the one that was used last.
  std::optional<ImageFacts> Use(const std::string& key) const;
  // PartOf(key) is whole and flushed: it becomes the image.
  Status Keep(const std::string& key, const ImageFacts& facts) const;
  // Removes images, the least recently used first, until the others have at most `bytes`. One that a task uses stays
  // readable for it; its room comes back when the task ends.
  void MakeRoom(std::uint64_t bytes) const;
  // How much an import that is under way has on the disk by now.
  std::uint64_t BytesUnderWay(const std::string& key) const;
  // What an import that was killed left, of this key.
  void Sweep(const std::string& key) const;
  // The same of every key at which nobody is.
  void SweepAll() const;

 private:
  std::string FactsOf(const std::string& key) const { return path_ + "/" + key + ".json"; }

  const std::string path_;
};

}  // namespace glim::nodeagent
