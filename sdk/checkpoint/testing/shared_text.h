// For tests: words that a process of the test leaves for the one that started it.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <string>

#include "sdk/base/status.h"

namespace glim::checkpoint {

// Made before the processes part; both see the same memory.
class SharedText {
 public:
  SharedText()
      : text_(static_cast<char*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedText() { ::munmap(text_, kBytes); }
  SharedText(const SharedText&) = delete;
  SharedText& operator=(const SharedText&) = delete;

  // As the exit status of the process.
  int Leave(const Status& status) const {
    std::strncpy(text_, (status.reason() + ": " + status.message()).c_str(), kBytes - 1);
    return static_cast<int>(status.code());
  }
  std::string text() const { return text_; }

 private:
  static constexpr std::size_t kBytes = 4096;
  char* text_;
};

}  // namespace glim::checkpoint
