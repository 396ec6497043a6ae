// What the tests of writers and readers share: every way and page cache or not, folders, images, and a channel with
// faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sdk/checkpoint/io/channel.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {

struct IoCase {
  IoKind kind;
  bool direct;
};
// io_uring and pwrite with and without O_DIRECT, and usrbio, by a stand-in.
std::vector<IoCase> AllIoCases();
std::string NameOf(const IoCase& io_case);
// Small blocks, so that small files take several.
IoOptions OptionsFor(const IoCase& io_case);

// A new empty folder, open; on the stand-in's 3FS. Removed with all that is in it.
class IoFolder {
 public:
  // `parent`: "" is the tests' usual place.
  explicit IoFolder(const std::string& parent = "");
  IoFolder(const IoFolder&) = delete;
  ~IoFolder();

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  // Without what the stand-in needs; sorted.
  std::vector<std::string> Files() const;
  std::string ReadAll(const std::string& name) const;
  void WriteAll(const std::string& name, std::span<const std::byte> bytes) const;
  // Takes the file out of the page cache; false: this file system has nothing else (tmpfs).
  bool Drop(const std::string& name) const;

 private:
  std::string path_;
  UniqueFd fd_;
};

// Memory at a page, readable to the end of its last one, filled with bytes that depend on `seed`.
class Image {
 public:
  Image(std::size_t bytes, std::uint64_t seed);
  std::span<std::byte> bytes() { return {memory_.get(), bytes_}; }
  std::string ToString() const { return {reinterpret_cast<const char*>(memory_.get()), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

// Hands on to another channel, and does to requests and completions what a test says. Checks that its user keeps to the
// contract: no more in flight than agreed, and nothing at the end.
class FaultyChannel final : public Channel {
 public:
  // Before a request is handed on, by its number: it may be shortened. A value: it is not handed on, and completes so.
  using RequestFault = std::function<std::optional<std::int64_t>(std::size_t number, IoRequest& request)>;
  FaultyChannel(std::unique_ptr<Channel> inner, RequestFault fault, std::uint32_t depth);
  ~FaultyChannel() override;

  IoKind kind() const override { return inner_->kind(); }
  bool has_direct() const override { return inner_->has_direct(); }
  void Register(std::span<const std::byte> memory) override { inner_->Register(memory); }
  bool IsRegistered(std::span<const std::byte> memory) const override { return inner_->IsRegistered(memory); }
  int Attach(int fd) override { return inner_->Attach(fd); }
  void Detach(int fd) override { inner_->Detach(fd); }
  void Submit(const IoRequest& request) override;
  IoCompletion Wait() override;

 private:
  const std::unique_ptr<Channel> inner_;
  const RequestFault fault_;
  const std::uint32_t depth_;
  std::size_t number_ = 0;
  std::uint32_t in_flight_ = 0;
  std::deque<IoCompletion> made_up_;
};

// How many there are, to see that none is left behind.
std::size_t OpenDescriptors();

}  // namespace glim::checkpoint
