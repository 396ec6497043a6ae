#include "sdk/checkpoint/save/copier.h"

#include <algorithm>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "sdk/checkpoint/io/stream_copy.h"

namespace glim::checkpoint {
namespace {

constexpr std::uint64_t kBlockBytes = std::uint64_t{4} << 20;

// The ranges lie end to end in the image; threads take its blocks in order.
class BlockCopy {
 public:
  BlockCopy(std::span<std::byte> image, std::span<const SaveTensor> tensors, std::span<const CopyRange> copies,
            const std::function<void(std::uint64_t)>& copied)
      : image_(image),
        tensors_(tensors),
        copies_(copies),
        copied_(copied),
        begin_(copies.front().to),
        end_(copies.back().to + copies.back().bytes),
        done_((end_ - begin_ + kBlockBytes - 1) / kBlockBytes) {}

  std::size_t blocks() const { return done_.size(); }

  void Work() {
    for (;;) {
      std::size_t block = 0;
      {
        const std::lock_guard lock(mutex_);
        if (next_ == done_.size()) return;
        block = next_++;
      }
      Copy(begin_ + block * kBlockBytes, EndOf(block));
      const std::lock_guard lock(mutex_);
      done_[block] = true;
      const std::size_t before = whole_;
      while (whole_ < done_.size() && done_[whole_]) ++whole_;
      if (whole_ > before) copied_(EndOf(whole_ - 1));
    }
  }

 private:
  std::uint64_t EndOf(std::size_t block) const { return std::min(end_, begin_ + (block + 1) * kBlockBytes); }

  void Copy(std::uint64_t begin, std::uint64_t end) const {
    auto copy = std::upper_bound(copies_.begin(), copies_.end(), begin,
                                 [](std::uint64_t at, const CopyRange& range) { return at < range.to; }) -
                1;
    for (; copy != copies_.end() && copy->to < end; ++copy) {
      const SaveTensor& tensor = tensors_[copy->tensor];
      if (tensor.on_device) continue;
      const std::uint64_t first = std::max(begin, copy->to);
      const std::uint64_t last = std::min(end, copy->to + copy->bytes);
      StreamCopy(image_.data() + first, tensor.data.data() + copy->from + (first - copy->to), last - first);
    }
  }

  const std::span<std::byte> image_;
  const std::span<const SaveTensor> tensors_;
  const std::span<const CopyRange> copies_;
  const std::function<void(std::uint64_t)>& copied_;
  const std::uint64_t begin_;
  const std::uint64_t end_;

  std::mutex mutex_;
  std::vector<bool> done_;  // blocks
  std::size_t next_ = 0;    // to be taken
  std::size_t whole_ = 0;   // blocks before this one are done
};

}  // namespace

void CopyRanges(std::span<std::byte> image, std::span<const SaveTensor> tensors, std::span<const CopyRange> copies,
                std::uint32_t threads, const std::function<void(std::uint64_t end)>& copied) {
  if (copies.empty()) return;
  BlockCopy work(image, tensors, copies, copied);
  std::vector<std::jthread> helpers;
  for (std::uint32_t i = 1; i < threads && i < work.blocks(); ++i) {
    try {
      helpers.emplace_back([&work] { work.Work(); });
    } catch (const std::system_error&) {
      break;  // no thread is to be had: slower, and as right
    }
  }
  work.Work();
}

}  // namespace glim::checkpoint
