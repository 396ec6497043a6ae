// For tests: a folder of one's own under /tmp, removed with all that is in it.
#pragma once

#include <cstdlib>
#include <string>

#include "sdk/io/folders.h"

namespace glim {

class TempFolder {
 public:
  TempFolder() {
    char name[] = "/tmp/glim-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TempFolder() { (void)RemoveFolder(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace glim
