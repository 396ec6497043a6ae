// Reads many ranges of files straight into their places, sorted, joined where they touch, several in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/io/file_writer.h"

namespace glim::checkpoint {

// The next bytes of a read go there. Segments of one read follow each other in the file.
struct ReadRange {
  std::uint32_t file = 0;     // index in the list given to Read
  std::uint64_t offset = 0;   // in the file
  std::span<std::byte> into;  // any alignment: what O_DIRECT cannot do is read beside and copied
};

class BatchReader {
 public:
  virtual ~BatchReader() = default;

  // All of `ranges`, in any order; `done(i)` is told by the calling thread, in the order of arrival, when range i has
  // come, so that it is verified while others are on their way; a failure that it returns ends the read. `files` are
  // names in the open `folder`. What the page cache has comes from there, the rest past it (IoOptions::direct).
  // DATA_LOSS when a file is missing or shorter than a range says, or the disk fails; the message names the file.
  virtual Result<IoReport> Read(int folder, const std::vector<std::string>& files, std::span<const ReadRange> ranges,
                                const std::function<Status(std::size_t)>& done) = 0;
};

Result<std::unique_ptr<BatchReader>> MakeBatchReader(const IoOptions& options, const std::string& folder);

}  // namespace glim::checkpoint
