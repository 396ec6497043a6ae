#include "sdk/checkpoint/io/testing/io_cases.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sdk/base/check.h"
#include "sdk/base/testing/folders.h"

namespace glim::checkpoint {

std::vector<IoCase> AllIoCases() {
  return {{IoKind::kUring, true},
          {IoKind::kUring, false},
          {IoKind::kPwrite, true},
          {IoKind::kPwrite, false},
          {IoKind::kUsrbio, true}};
}

std::string NameOf(const IoCase& io_case) {
  return std::string(NameOf(io_case.kind)) + (io_case.direct ? "_direct" : "_cached");
}

IoOptions OptionsFor(const IoCase& io_case) {
  IoOptions options;
  options.kind = io_case.kind;
  options.direct = io_case.direct;
  options.block_bytes = 64 << 10;
  options.depth = 3;
  options.usrbio_library = BuiltFile("sdk/checkpoint/io/libckpt_usrbio_stand_in.so");
  return options;
}

IoFolder::IoFolder(const std::string& parent)
    : path_((parent.empty() ? testing::TempDir() : parent + "/") + "io.XXXXXX") {
  GLIM_CHECK(::mkdtemp(path_.data()) != nullptr, "mkdtemp");
  std::ofstream(path_ + "/.3fs");
  fd_.Reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

IoFolder::~IoFolder() { std::filesystem::remove_all(path_); }

std::vector<std::string> IoFolder::Files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    if (entry.path().filename() != ".3fs") names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string IoFolder::ReadAll(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(path_ + "/" + name, std::ios::binary).rdbuf();
  return text.str();
}

void IoFolder::WriteAll(const std::string& name, std::span<const std::byte> bytes) const {
  std::ofstream(path_ + "/" + name, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

bool IoFolder::Drop(const std::string& name) const {
  struct statfs found {};
  GLIM_CHECK(::fstatfs(fd(), &found) == 0, "fstatfs");
  if (found.f_type == TMPFS_MAGIC) return false;
  const UniqueFd file(::openat(fd(), name.c_str(), O_RDONLY | O_CLOEXEC));
  GLIM_CHECK(::fsync(file.get()) == 0 && ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) == 0, "fadvise");
  return true;
}

Image::Image(std::size_t bytes, std::uint64_t seed)
    : bytes_(bytes),
      memory_(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, std::max(PagesUp(bytes), kPageBytes)))) {
  std::uint64_t state = seed;
  for (std::size_t at = 0; at < PagesUp(bytes); at += sizeof state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t word = state ^ (state >> 29);
    std::memcpy(memory_.get() + at, &word, sizeof word);
  }
}

FaultyChannel::FaultyChannel(std::unique_ptr<Channel> inner, RequestFault fault, std::uint32_t depth)
    : inner_(std::move(inner)), fault_(std::move(fault)), depth_(depth) {}

FaultyChannel::~FaultyChannel() { EXPECT_EQ(in_flight_, 0u) << "its user left before its requests came home"; }

void FaultyChannel::Submit(const IoRequest& request) {
  EXPECT_LT(in_flight_, depth_);
  ++in_flight_;
  IoRequest changed = request;
  const std::optional<std::int64_t> result = fault_(number_++, changed);
  EXPECT_LE(changed.bytes, request.bytes) << "a fault may only shorten";
  if (result)
    made_up_.push_back({request.tag, *result});
  else
    inner_->Submit(changed);
}

IoCompletion FaultyChannel::Wait() {
  GLIM_CHECK(in_flight_ > 0, "a wait for nothing");
  --in_flight_;
  if (made_up_.empty()) return inner_->Wait();
  const IoCompletion completion = made_up_.front();
  made_up_.pop_front();
  return completion;
}

std::size_t OpenDescriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace glim::checkpoint
