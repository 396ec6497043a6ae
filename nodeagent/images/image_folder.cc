#include "nodeagent/images/image_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {

std::optional<ImageFacts> ImageFolder::Use(const std::string& key) const {
  const Result<std::string> text = ReadFile(FactsOf(key), kImageFactsBytesMax);
  if (!text.ok() || ::access(FileOf(key).c_str(), R_OK) != 0) return std::nullopt;
  Result<ImageFacts> facts = ParseImageFacts(*text);
  if (!facts.ok()) return std::nullopt;
  (void)::utimensat(AT_FDCWD, FileOf(key).c_str(), nullptr, 0);
  return std::move(*facts);
}

Status ImageFolder::Keep(const std::string& key, const ImageFacts& facts) const {
  // The facts first: an image without them is none.
  if (Status status = WriteFileAtomically(FactsOf(key), ToJson(facts), Durability::kMachine); !status.ok()) {
    return status;
  }
  if (::rename(PartOf(key).c_str(), FileOf(key).c_str()) == 0) return Status::Ok();
  return FileError("name", FileOf(key), errno);
}

void ImageFolder::MakeRoom(std::uint64_t bytes) const {
  struct Image {
    std::filesystem::file_time_type used;
    std::uint64_t bytes;
    std::filesystem::path file;
  };
  std::vector<Image> images;
  std::uint64_t all = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".sqsh") continue;
    std::error_code gone;
    const std::uint64_t size = it->file_size(gone);
    const auto used = it->last_write_time(gone);
    if (gone) continue;
    images.push_back({used, size, it->path()});
    all += size;
  }
  std::sort(images.begin(), images.end(), [](const Image& a, const Image& b) { return a.used < b.used; });
  for (const Image& image : images) {
    if (all <= bytes) return;
    std::filesystem::path facts = image.file;
    ::unlink(facts.replace_extension(".json").c_str());
    ::unlink(image.file.c_str());
    all -= image.bytes;
  }
}

std::uint64_t ImageFolder::BytesUnderWay(const std::string& key) const {
  std::uint64_t bytes = 0;
  for (const std::string& path : {PartOf(key), WorkOf(key)}) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
  }
  return bytes;
}

void ImageFolder::Sweep(const std::string& key) const {
  for (const std::string& path : {PartOf(key), WorkOf(key)}) ::unlink(path.c_str());
}

void ImageFolder::SweepAll() const {
  std::error_code error;
  for (std::filesystem::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".progress") ::unlink(it->path().c_str());
    if (it->path().extension() != ".lock") continue;
    const UniqueFd lock(::open(it->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) Sweep(it->path().stem().string());
  }
}

}  // namespace glim::nodeagent
