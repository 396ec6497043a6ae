// GzipCache: large answers, compressed once for all who ask the same within a while. Any thread; bounded memory.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace glim::gateway {

// The text as gzip has it; null: zlib failed.
std::shared_ptr<const std::string> Gzip(const std::string& text);

class GzipCache {
 public:
  using Text = std::shared_ptr<const std::string>;

  explicit GzipCache(std::size_t bytes_max = std::size_t{32} << 20) : bytes_max_(bytes_max) {}

  // `tag` is the text's own (answers.h). Compresses outside of the lock; two at a time may do the same work.
  Text Of(const std::string& tag, const std::string& text);

  std::size_t bytes() const;       // for tests
  std::size_t compressed() const;  // how often there was work to do

 private:
  struct Row {
    std::string tag;
    Text text;
  };
  const std::size_t bytes_max_;
  mutable std::mutex mutex_;  // guards what follows
  std::list<Row> rows_;       // the last used first
  std::map<std::string, std::list<Row>::iterator> by_tag_;
  std::size_t bytes_ = 0;
  std::size_t compressed_ = 0;
};

}  // namespace glim::gateway
