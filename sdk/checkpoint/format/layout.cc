#include "sdk/checkpoint/format/layout.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sdk/base/printable.h"
#include "sdk/checkpoint/format/shard_header.h"

namespace glim::checkpoint {
namespace {

// Bytes of a tensor that this rank writes as one piece, and where they are in the caller's memory.
struct Share {
  std::uint32_t tensor = 0;
  std::uint64_t at = 0;
  std::uint64_t from = 0;
  std::uint64_t bytes = 0;
};

Status Refused(const SaveTensor& tensor, const std::string& message, std::string fix = "") {
  const std::string name = Printable(tensor.info.name);
  return Status(StatusCode::kInvalidArgument, "the tensor \"" + name + "\": " + message)
      .WithReason("BAD_TENSOR")
      .WithField(name)
      .WithFix(std::move(fix));
}

// Of a distributed tensor without bytes: 0.
std::uint64_t RowBytes(const TensorInfo& info) {
  return info.shape[0] == 0 ? 0 : *BytesOf(info.dtype, info.shape) / info.shape[0];
}

Status CheckTensor(const SaveTensor& tensor) {
  if (Status status = tensor.info.Check(); !status.ok()) return status;
  std::uint64_t expected = *BytesOf(tensor.info.dtype, tensor.info.shape);
  if (tensor.placement == Placement::kRows) {
    if (tensor.info.shape.empty()) return Refused(tensor, "a scalar has no rows", "save it as replicated");
    const std::uint64_t rows = tensor.info.shape[0];
    if (tensor.rows.first > rows || tensor.rows.count > rows - tensor.rows.first) {
      return Refused(tensor,
                     std::to_string(tensor.rows.count) + " rows from " + std::to_string(tensor.rows.first) +
                         " of a tensor that has " + std::to_string(rows),
                     "give the global shape, and the rows of this rank");
    }
    expected = RowBytes(tensor.info) * tensor.rows.count;
  }
  if (tensor.data.size() == expected) return Status::Ok();
  return Refused(tensor, std::to_string(tensor.data.size()) + " bytes of data, but type and shape say " +
                             std::to_string(expected));
}

// Indices by name; each name once.
Result<std::vector<std::uint32_t>> OrderByName(std::span<const SaveTensor> tensors) {
  std::vector<std::pair<std::string_view, std::uint32_t>> names(tensors.size());
  for (std::uint32_t i = 0; i < names.size(); ++i) names[i] = {tensors[i].info.name, i};
  std::sort(names.begin(), names.end());
  std::vector<std::uint32_t> order(names.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    order[k] = names[k].second;
    if (k > 0 && names[k - 1].first == names[k].first) {
      return Refused(tensors[order[k]], "two tensors have this name", "give each a name of its own");
    }
  }
  return order;
}

// Deals out what all ranks hold alike. In the order of the names it is one row of bytes, cut into `world` equal shares;
// a part belongs to the rank in whose share its middle lies.
class Dealer {
 public:
  Dealer(std::uint64_t total_bytes, std::uint32_t world) : total_bytes_(total_bytes), world_(world) {}

  // The rank of the next `bytes`.
  std::uint32_t Next(std::uint64_t bytes) {
    const unsigned __int128 middle = static_cast<unsigned __int128>(dealt_bytes_) + bytes / 2;
    dealt_bytes_ += bytes;
    if (total_bytes_ == 0) return 0;
    return std::min(world_ - 1, static_cast<std::uint32_t>(middle * world_ / total_bytes_));
  }

 private:
  std::uint64_t total_bytes_;
  std::uint32_t world_;
  std::uint64_t dealt_bytes_ = 0;
};

// Appends this rank's share of a replicated tensor: one run, or none.
void TakeReplicated(Dealer& dealer, std::uint32_t tensor, std::uint64_t bytes, std::uint32_t rank,
                    std::uint64_t split_bytes, std::vector<Share>& shares) {
  Share mine{.tensor = tensor, .at = 0, .from = 0, .bytes = 0};
  bool is_mine = false;
  std::uint64_t at = 0;
  do {
    const std::uint64_t part = std::min(split_bytes, bytes - at);
    if (dealer.Next(part) == rank) {
      if (!std::exchange(is_mine, true)) mine.at = mine.from = at;
      mine.bytes += part;
    }
    at += part;
  } while (at < bytes);
  if (is_mine) shares.push_back(mine);
}

std::vector<Share> SharesOf(std::span<const SaveTensor> tensors, const std::vector<std::uint32_t>& order,
                            std::uint32_t rank, std::uint32_t world, std::uint64_t split_bytes) {
  std::uint64_t replicated_bytes = 0;
  for (const SaveTensor& tensor : tensors) {
    if (tensor.placement == Placement::kReplicated) replicated_bytes += tensor.data.size();
  }
  Dealer dealer(replicated_bytes, world);
  std::vector<Share> shares;
  shares.reserve(tensors.size());
  for (const std::uint32_t i : order) {
    const SaveTensor& tensor = tensors[i];
    if (tensor.placement == Placement::kReplicated) {
      TakeReplicated(dealer, i, tensor.data.size(), rank, split_bytes, shares);
    } else {
      const std::uint64_t at = tensor.placement == Placement::kRows ? RowBytes(tensor.info) * tensor.rows.first : 0;
      shares.push_back({.tensor = i, .at = at, .from = 0, .bytes = tensor.data.size()});
    }
  }
  return shares;
}

bool IsWhole(const Share& share, const TensorInfo& info) { return share.bytes == *BytesOf(info.dtype, info.shape); }

// The array that other readers of the shard see.
ShardEntry EntryOf(const Share& share, std::span<const SaveTensor> tensors, const std::vector<std::uint32_t>& order) {
  const TensorInfo& info = tensors[share.tensor].info;
  ShardEntry entry{.name = info.name, .dtype = info.dtype, .shape = info.shape, .begin = 0, .end = 0};
  if (IsWhole(share, info)) return entry;
  const auto is_taken = [&](const std::string& name) {
    const auto found = std::lower_bound(order.begin(), order.end(), name, [&](std::uint32_t i, const std::string& n) {
      return tensors[i].info.name < n;
    });
    return found != order.end() && tensors[*found].info.name == name;
  };
  entry.name += '@' + std::to_string(share.at);
  while (is_taken(entry.name)) entry.name += '@';
  const std::uint64_t row_bytes = RowBytes(info);
  if (share.at % row_bytes == 0 && share.bytes % row_bytes == 0) {
    entry.shape[0] = share.bytes / row_bytes;
  } else {
    entry.shape = {share.bytes / SizeOf(info.dtype)};
  }
  return entry;
}

// As layout.h says: by this order every piece is aligned to its elements, and the large ones to 4 KiB.
void OrderInShard(std::vector<Share>& shares, std::span<const SaveTensor> tensors) {
  std::stable_sort(shares.begin(), shares.end(), [&](const Share& a, const Share& b) {
    const auto key = [&](const Share& share) {
      return std::pair(share.bytes % kDataAlignment != 0,
                       share.bytes % kDataAlignment == 0 ? 0 : 8 - SizeOf(tensors[share.tensor].info.dtype));
    };
    return key(a) < key(b);
  });
}

}  // namespace

Result<ShardLayout> LayOut(std::span<const SaveTensor> tensors, std::uint32_t rank, std::uint32_t world,
                           std::uint64_t split_bytes) {
  GLIM_CHECK(rank < world, "a rank of the world");
  GLIM_CHECK(split_bytes > 0 && split_bytes % kChunkBytes == 0, "split_bytes is a multiple of kChunkBytes");
  std::uint64_t bytes_left = kTensorBytesMax;
  for (const SaveTensor& tensor : tensors) {
    if (Status status = CheckTensor(tensor); !status.ok()) return status;
    if (tensor.data.size() > bytes_left) return Refused(tensor, "with it there are more than 2^62 bytes");
    bytes_left -= tensor.data.size();
  }
  const Result<std::vector<std::uint32_t>> order = OrderByName(tensors);
  if (!order.ok()) return order.status();

  ShardLayout layout;
  std::vector<Share> shares = SharesOf(tensors, *order, rank, world, split_bytes);
  layout.entries.reserve(shares.size());
  for (const Share& share : shares) {
    const SaveTensor& tensor = tensors[share.tensor];
    layout.entries.push_back({.info = tensor.info, .pieces = {}, .by_rows = tensor.placement == Placement::kRows});
  }
  std::vector<std::uint32_t> entry_of(tensors.size());
  for (std::uint32_t i = 0; i < shares.size(); ++i) entry_of[shares[i].tensor] = i;

  OrderInShard(shares, tensors);
  std::vector<ShardEntry> arrays;
  arrays.reserve(shares.size());
  std::uint64_t end = 0;
  for (const Share& share : shares) {
    if (share.bytes == 0 && !IsWhole(share, tensors[share.tensor].info)) continue;  // no rows here
    arrays.push_back(EntryOf(share, tensors, *order));
    arrays.back().begin = end;
    end += share.bytes;
    arrays.back().end = end;
  }
  Result<std::string> header = BuildShardHeader(arrays);
  if (!header.ok()) return header.status();
  layout.header = std::move(*header);

  std::uint64_t to = layout.header.size();
  for (const Share& share : shares) {
    if (share.bytes == 0) continue;
    layout.copies.push_back({.tensor = share.tensor, .from = share.from, .to = to, .bytes = share.bytes});
    layout.entries[entry_of[share.tensor]].pieces = {
        {.shard = 0, .offset = to, .bytes = share.bytes, .at = share.at, .crc32c = {}}};
    to += share.bytes;
  }
  layout.file_bytes = to;
  return layout;
}

}  // namespace glim::checkpoint
