#include "sdk/checkpoint/load/rows.h"

#include <algorithm>
#include <string>

namespace glim::checkpoint {

Rows EvenRows(std::uint64_t rows, std::uint32_t rank, std::uint32_t world) {
  const std::uint64_t each = rows / world;
  const std::uint64_t more = rows % world;
  return {rank * each + std::min<std::uint64_t>(rank, more), each + (rank < more ? 1 : 0)};
}

Result<LoadRange> RangeOfRows(const TensorInfo& tensor, Rows rows, std::span<std::byte> into) {
  if (tensor.shape.empty()) {
    return InvalidArgument(tensor.name, "'" + tensor.name + "' is a scalar: it has no rows", "load it whole");
  }
  const std::uint64_t all = tensor.shape.front();
  if (rows.first > all || rows.count > all - rows.first) {
    return InvalidArgument(tensor.name, "rows " + std::to_string(rows.first) + " and " + std::to_string(rows.count) +
                                            " more of '" + tensor.name + "', which has " + std::to_string(all));
  }
  const Result<std::uint64_t> bytes = tensor.bytes();
  if (!bytes.ok()) return bytes.status();
  const std::uint64_t row = all == 0 ? 0 : *bytes / all;
  if (into.size() != rows.count * row) {
    return InvalidArgument(tensor.name, std::to_string(rows.count) + " rows of '" + tensor.name + "' are " +
                                            std::to_string(rows.count * row) + " bytes; the place for them has " +
                                            std::to_string(into.size()));
  }
  return LoadRange{tensor.name, rows.first * row, into};
}

}  // namespace glim::checkpoint
