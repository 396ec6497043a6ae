#include "nodeagent/saves/file_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sdk/checkpoint/io/make_channel.h"
#include "sdk/checkpoint/io/stream_copy.h"
#include "sdk/io/io_error.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
constexpr std::uint32_t kDepth = 4;
constexpr std::int64_t kSmallBytes = 1 << 20;

}  // namespace

void FileSink::Free::operator()(std::byte* memory) const { std::free(memory); }

FileSink::~FileSink() { Drain(); }

Status FileSink::Begin(UniqueFd fd, std::string name, std::int64_t bytes) {
  Drain();
  fd_ = std::move(fd);
  name_ = std::move(name);
  bytes_ = bytes;
  written_ = submitted_ = 0;
  filled_ = 0;
  small_ = bytes < kSmallBytes;
  if (small_) return Status::Ok();
  if (Status status = MakeRoom(); !status.ok()) return status;
  direct_ = channel_->has_direct() && SetDirect(true);
  // A full disk is known before a byte was written, and writers in flight need not extend the file.
  const auto room = static_cast<off_t>(checkpoint::PagesUp(static_cast<std::uint64_t>(bytes)));
  if (::fallocate(fd_.get(), 0, 0, room) != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    return FileError("write", name_, errno);
  }
  if (const int error = channel_->Attach(fd_.get()); error != 0) return FileError("write", name_, error);
  attached_ = true;
  return NextBlock();
}

// What a sink needs for large files, and keeps.
Status FileSink::MakeRoom() {
  if (channel_) return Status::Ok();
  checkpoint::IoOptions options;
  options.block_bytes = kBlockBytes;
  options.depth = kDepth;
  auto channel = checkpoint::MakeChannel(options, "/", checkpoint::IoDirection::kWrite);
  if (!channel.ok()) return channel.status();
  channel_ = std::move(channel).value();
  for (std::size_t i = 0; i < kDepth; ++i) {  // one of them is being filled: fewer are on their way than it takes
    Block block;
    block.memory.reset(static_cast<std::byte*>(std::aligned_alloc(checkpoint::kPageBytes, kBlockBytes)));
    if (!block.memory) return Status(StatusCode::kResourceExhausted, "no memory to write " + name_);
    blocks_.push_back(std::move(block));
    free_.push_back(i);
  }
  return Status::Ok();
}

Status FileSink::Write(std::span<const std::byte> data) {
  written_ += static_cast<std::int64_t>(data.size());
  if (small_) return WriteSmall(data);
  while (!data.empty()) {
    const std::size_t bytes = std::min(data.size(), kBlockBytes - filled_);
    checkpoint::StreamCopy(blocks_[current_].memory.get() + filled_, data.data(), bytes);
    filled_ += bytes;
    data = data.subspan(bytes);
    if (filled_ < kBlockBytes) continue;
    SubmitBlock();
    if (Status status = NextBlock(); !status.ok()) return status;
  }
  return Status::Ok();
}

Status FileSink::WriteSmall(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd_.get(), data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("write", name_, errno);
    data = data.subspan(static_cast<std::size_t>(n));
  }
  return Status::Ok();
}

Status FileSink::End() {
  if (!small_) {
    if (filled_ > 0) {
      SubmitBlock();
    } else {
      free_.push_back(current_);
    }
    while (in_flight_ > 0) {
      if (Status status = AwaitOne(); !status.ok()) return status;
    }
    channel_->Detach(fd_.get());
    attached_ = false;
  }
  syncer_.Push(std::move(fd_), name_, bytes_);
  return Status::Ok();
}

Status FileSink::NextBlock() {
  while (free_.empty()) {
    if (Status status = AwaitOne(); !status.ok()) return status;
  }
  current_ = free_.back();
  free_.pop_back();
  filled_ = 0;
  return Status::Ok();
}

// The last one is filled up with zeros, which are cut off when the file is synced.
void FileSink::SubmitBlock() {
  Block& block = blocks_[current_];
  block.direct = direct_;
  std::size_t bytes = filled_;
  if (direct_) {
    bytes = checkpoint::PagesUp(filled_);
    std::memset(block.memory.get() + filled_, 0, bytes - filled_);
  }
  block.rest = {fd_.get(), static_cast<std::uint64_t>(submitted_), block.memory.get(), bytes, current_, false};
  submitted_ += static_cast<std::int64_t>(bytes);
  filled_ = 0;
  ++in_flight_;
  channel_->Submit(block.rest);
}

Status FileSink::AwaitOne() {
  const checkpoint::IoCompletion completion = channel_->Wait();
  checkpoint::IoRequest& rest = blocks_[completion.tag].rest;
  std::int64_t moved = completion.result;
  // O_DIRECT could be set, and yet is not there. What was in flight meanwhile fails alike.
  const bool refused = moved == -EINVAL && std::exchange(blocks_[completion.tag].direct, false);
  if (refused && (!direct_ || SetDirect(false))) {
    direct_ = false;
    moved = 0;
  } else if (moved == -EINTR || moved == -EAGAIN) {
    moved = 0;
  } else if (moved <= 0) {
    --in_flight_;
    return FileError("write", name_, moved == 0 ? ENOSPC : static_cast<int>(-moved));
  }
  rest.offset += static_cast<std::uint64_t>(moved);
  rest.memory += moved;
  rest.bytes -= static_cast<std::uint64_t>(moved);
  if (rest.bytes > 0) {
    channel_->Submit(rest);
    return Status::Ok();
  }
  --in_flight_;
  free_.push_back(completion.tag);
  return Status::Ok();
}

// After an error: the channel's requests refer to memory and a file that are about to go.
void FileSink::Drain() {
  while (in_flight_ > 0) {
    (void)channel_->Wait();
    --in_flight_;
  }
  if (std::exchange(attached_, false)) channel_->Detach(fd_.get());
  free_.clear();
  for (std::size_t i = 0; i < blocks_.size(); ++i) free_.push_back(i);
}

bool FileSink::SetDirect(bool on) {
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  return flags >= 0 && ::fcntl(fd_.get(), F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

}  // namespace glim::nodeagent
