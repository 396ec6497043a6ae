// StaticFiles: the dashboard's files, read once at the start: nothing that a request says reaches the file system.
// Immutable; any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "scheduler/gateway/http_types.h"
#include "sdk/base/result.h"

namespace glim::gateway {

class StaticFiles {
 public:
  static constexpr std::size_t kFilesMax = 2'000;
  static constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;
  static constexpr std::size_t kAllBytesMax = std::size_t{64} << 20;

  // All plain files below the folder. Left out: names that begin with a dot, links, whatever is no plain file.
  // INVALID_ARGUMENT (BAD_WEB_ROOT): it is no folder, has no index.html, or has too much in it.
  static Result<std::unique_ptr<StaticFiles>> Read(const std::string& folder);

  // GET and HEAD alone. A path without a file that is no file's name, of who accepts html, is the start page: pages of
  // an application have addresses of their own. 404 else.
  HttpAnswer Answer(const HttpRequest& request) const;

 private:
  struct File {
    std::string type;
    std::string tag;
    bool immutable = false;  // its name has a hash of what is in it
    std::shared_ptr<const std::string> text;
  };
  Status Add(const std::string& folder, const std::string& below, std::size_t depth);
  Status AddFile(const std::string& path, const std::string& name);

  std::map<std::string, File, std::less<>> files_;  // by "/assets/index-3f2a.js"
  std::size_t bytes_ = 0;
};

// Whether a build tool has put a hash into the name: "index-B3f9ab12.js".
bool HasHashInName(std::string_view path);

}  // namespace glim::gateway
