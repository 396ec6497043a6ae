// Writes one image in memory to one new file, fast and durable. Which way is chosen once, and shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sdk/base/result.h"

namespace glim::checkpoint {

// kAuto: usrbio where the folder is a 3FS mount and its library is there, else io_uring where the kernel allows it,
// else pwrite.
enum class IoKind : std::uint8_t { kAuto, kUring, kPwrite, kUsrbio };
std::string_view NameOf(IoKind kind);  // "auto", "io_uring", "pwrite", "usrbio"

struct IoOptions {
  IoKind kind = IoKind::kAuto;
  std::uint64_t block_bytes = std::uint64_t{4} << 20;     // of one request; a multiple of 4 KiB
  std::uint32_t depth = 4;                                // requests in flight
  bool direct = true;                                     // O_DIRECT, where the file system has it
  std::string usrbio_library = "libhf3fs_api_shared.so";  // 3FS's, a path or a name for the dynamic linker
};

// How a file was written or read, for reports.
struct IoReport {
  IoKind kind = IoKind::kAuto;
  bool direct = false;      // past the page cache; of a read, at least in part
  bool registered = false;  // the kernel knew the memory beforehand
  std::uint64_t bytes = 0;
  std::int64_t micros = 0;       // to durable
  std::int64_t sync_micros = 0;  // of that, the flush
};

// One thread at a time. Keeps what is dear (a ring, registered memory) from file to file.
class FileWriter {
 public:
  virtual ~FileWriter() = default;

  // Memory from which files will be written, until it is forgotten: registered where that helps. The memory must be
  // aligned to 4 KiB and stay. Failure to register is no failure.
  virtual void Register(std::span<const std::byte> memory) = 0;
  virtual void Forget() = 0;

  // Creates `name` (which must not exist) in the open folder `folder`, writes `image` and flushes data and size; the
  // folder is for the caller to flush. `image` is aligned to 4 KiB and readable up to the next multiple of 4 KiB
  // beyond its end.
  // On failure the file is removed. Errors keep errno's words: RESOURCE_EXHAUSTED for a full disk, quota or limit,
  // DATA_LOSS for EIO, NOT_FOUND for a folder that has vanished, ALREADY_EXISTS, PERMISSION_DENIED, INVALID_ARGUMENT
  // for a name that is no plain one.
  Result<IoReport> Write(int folder, const std::string& name, std::span<const std::byte> image) {
    return WriteAsItComes(folder, name, image, [](std::uint64_t) {});
  }
  // The same of an image that somebody is still filling, from its beginning on: `wait_for(n)` returns when its first n
  // bytes are there to stay. It is called with rising n; a failed write does not wait for the rest.
  virtual Result<IoReport> WriteAsItComes(int folder, const std::string& name, std::span<const std::byte> image,
                                          const std::function<void(std::uint64_t bytes)>& wait_for) = 0;
};

// UNAVAILABLE when `options.kind` names one that this machine has not; kAuto never fails for that.
Result<std::unique_ptr<FileWriter>> MakeFileWriter(const IoOptions& options, const std::string& folder);

}  // namespace glim::checkpoint
