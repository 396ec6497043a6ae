#include "scheduler/gateway/gzip_cache.h"

#include <zlib.h>

namespace glim::gateway {
namespace {

constexpr int kLevel = 5;
constexpr int kGzipWindow = 15 + 16;  // 16: with gzip's head and tail
constexpr int kMemory = 8;

}  // namespace

std::shared_ptr<const std::string> Gzip(const std::string& text) {
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) return nullptr;
  auto out = std::make_shared<std::string>(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib does not write there
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out->data());
  stream.avail_out = static_cast<uInt>(out->size());
  const int done = deflate(&stream, Z_FINISH);
  out->resize(stream.total_out);
  deflateEnd(&stream);
  if (done != Z_STREAM_END) return nullptr;
  out->shrink_to_fit();
  return out;
}

GzipCache::Text GzipCache::Of(const std::string& tag, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_tag_.find(tag);
    if (found != by_tag_.end()) {
      rows_.splice(rows_.begin(), rows_, found->second);
      return found->second->text;
    }
  }
  const Text made = Gzip(text);
  const std::lock_guard lock(mutex_);
  ++compressed_;
  if (made == nullptr || made->size() > bytes_max_ || by_tag_.contains(tag)) return made;
  rows_.push_front({tag, made});
  by_tag_[tag] = rows_.begin();
  bytes_ += made->size();
  while (bytes_ > bytes_max_) {
    bytes_ -= rows_.back().text->size();
    by_tag_.erase(rows_.back().tag);
    rows_.pop_back();
  }
  return made;
}

std::size_t GzipCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t GzipCache::compressed() const {
  const std::lock_guard lock(mutex_);
  return compressed_;
}

}  // namespace glim::gateway
