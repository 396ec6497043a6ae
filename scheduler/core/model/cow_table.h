// CowTable<Key, Row>: an ordered table whose copies share structure, so that publishing a snapshot after every batch
// costs a few pointers and not the table.
//
// Rows live in chunks of up to 128, sorted by key; a copy of the table copies the pointers to its chunks, and a write
// clones only the chunk that another copy may see. Whether one may is told by generations, not by reference counts
// (whose relaxed reads would race): a copy and its source both move to a new generation, and own only the chunks that
// they wrote in it. A row is immutable once put: readers of a snapshot may keep
// pointers to it for as long as they keep the snapshot. One thread writes; any thread may read a copy of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace glim::core {

template <typename Key, typename Row>
class CowTable {
 public:
  using RowPtr = std::shared_ptr<const Row>;
  using Entry = std::pair<Key, RowPtr>;

  CowTable() = default;
  CowTable(const CowTable& other)
      : chunks_(other.chunks_), size_(other.size_), generation_(other.generation_.fetch_add(1) + 1) {}
  CowTable& operator=(const CowTable& other) {
    if (this == &other) return *this;
    chunks_ = other.chunks_;
    size_ = other.size_;
    generation_ = other.generation_.fetch_add(1) + 1;
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const Row* Find(const Key& key) const {
    const auto* entry = FindEntry(key);
    return entry ? entry->second.get() : nullptr;
  }

  RowPtr FindShared(const Key& key) const {
    const auto* entry = FindEntry(key);
    return entry ? entry->second : nullptr;
  }

  // The row that was there before, or null; likewise Erase.
  RowPtr Put(const Key& key, RowPtr row) {
    if (chunks_.empty()) {
      chunks_.push_back({std::make_shared<Chunk>(1, Entry{key, std::move(row)}), generation_.load()});
      size_ = 1;
      return nullptr;
    }
    const std::size_t at = ChunkFor(key);
    Chunk& chunk = Own(at);
    auto it = std::lower_bound(chunk.begin(), chunk.end(), key, ByKey);
    if (it != chunk.end() && it->first == key) {
      return std::exchange(it->second, std::move(row));
    }
    chunk.insert(it, {key, std::move(row)});
    ++size_;
    if (chunk.size() > kChunkMax) Split(at);
    return nullptr;
  }

  RowPtr Erase(const Key& key) {
    if (!FindEntry(key)) return nullptr;
    const std::size_t at = ChunkFor(key);
    Chunk& chunk = Own(at);
    const auto it = std::lower_bound(chunk.begin(), chunk.end(), key, ByKey);
    RowPtr erased = std::move(it->second);
    chunk.erase(it);
    if (chunk.empty()) chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
    --size_;
    return erased;
  }

  // Calls visit(key, row) in key order from the first key not less than `from`; stops when visit returns false.
  template <typename Visit>
  void VisitFrom(const Key& from, Visit visit) const {
    if (chunks_.empty()) return;
    for (std::size_t c = ChunkFor(from); c < chunks_.size(); ++c) {
      const Chunk& chunk = *chunks_[c].entries;
      for (auto it = std::lower_bound(chunk.begin(), chunk.end(), from, ByKey); it != chunk.end(); ++it) {
        if (!visit(it->first, *it->second)) return;
      }
    }
  }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& held : chunks_) {
      for (const auto& [key, row] : *held.entries) visit(key, *row);
    }
  }

  // Calls visit(key, before's row, after's row) in key order for each row that is not the same one in both; null: not
  // there. Chunks that both share are not looked into, so that it costs what was written between the two.
  template <typename Visit>
  static void ForEachChange(const CowTable& before, const CowTable& after, Visit visit) {
    Place old{before}, now{after};
    while (!old.AtEnd() || !now.AtEnd()) {
      if (old.at == 0 && now.at == 0 && !old.AtEnd() && !now.AtEnd() && old.chunk() == now.chunk()) {
        old.SkipChunk();
        now.SkipChunk();
        continue;
      }
      const Entry* const left = old.AtEnd() ? nullptr : &old.entry();
      const Entry* const right = now.AtEnd() ? nullptr : &now.entry();
      const bool of_old = left && (!right || !(right->first < left->first));
      const bool of_now = right && (!left || !(left->first < right->first));
      if (!of_old || !of_now || left->second != right->second) {
        visit(of_old ? left->first : right->first, of_old ? left->second.get() : nullptr,
              of_now ? right->second.get() : nullptr);
      }
      if (of_old) old.Next();
      if (of_now) now.Next();
    }
  }

 private:
  static constexpr std::size_t kChunkMax = 128;
  using Chunk = std::vector<Entry>;  // never empty
  struct Held {
    std::shared_ptr<Chunk> entries;
    std::uint64_t generation;  // in which it was written
  };

  // Where a walk through a table stands.
  struct Place {
    explicit Place(const CowTable& table) : chunks(table.chunks_) {}
    bool AtEnd() const { return c == chunks.size(); }
    const Chunk* chunk() const { return chunks[c].entries.get(); }
    const Entry& entry() const { return (*chunk())[at]; }
    void SkipChunk() {
      ++c;
      at = 0;
    }
    void Next() {
      if (++at == chunk()->size()) SkipChunk();
    }
    const std::vector<Held>& chunks;
    std::size_t c = 0;
    std::size_t at = 0;
  };

  static bool ByKey(const Entry& entry, const Key& key) { return entry.first < key; }

  // The last chunk that begins at or before the key, or the first.
  std::size_t ChunkFor(const Key& key) const {
    auto it = std::upper_bound(chunks_.begin(), chunks_.end(), key,
                               [](const Key& k, const Held& held) { return k < held.entries->front().first; });
    return it == chunks_.begin() ? 0 : static_cast<std::size_t>(it - chunks_.begin()) - 1;
  }

  const Entry* FindEntry(const Key& key) const {
    if (size_ == 0) return nullptr;
    const Chunk& chunk = *chunks_[ChunkFor(key)].entries;
    auto it = std::lower_bound(chunk.begin(), chunk.end(), key, ByKey);
    return it != chunk.end() && it->first == key ? &*it : nullptr;
  }

  Chunk& Own(std::size_t at) {
    Held& held = chunks_[at];
    const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
    if (held.generation != generation) held = {std::make_shared<Chunk>(*held.entries), generation};
    return *held.entries;
  }

  void Split(std::size_t at) {
    Chunk& chunk = *chunks_[at].entries;
    // Keys mostly grow: a full last chunk stays full, and the new key begins the next one.
    const std::size_t keep = at + 1 == chunks_.size() ? chunk.size() - 1 : chunk.size() / 2;
    const auto middle = chunk.begin() + static_cast<std::ptrdiff_t>(keep);
    auto rest = std::make_shared<Chunk>(middle, chunk.end());
    chunk.erase(middle, chunk.end());
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at) + 1, {std::move(rest), chunks_[at].generation});
  }

  std::vector<Held> chunks_;
  std::size_t size_ = 0;
  mutable std::atomic<std::uint64_t> generation_{0};
};

}  // namespace glim::core
