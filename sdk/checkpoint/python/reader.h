// An opened checkpoint as Python sees it, and questions to a checkpoints' directory.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/load/shard_source.h"
#include "sdk/checkpoint/python/saver.h"

namespace glim::checkpoint::python {

// A range of an array to read: name, first byte, address, bytes.
using RangeArguments = std::tuple<std::string, std::uint64_t, std::uintptr_t, std::size_t>;
// Name, type, shape.
using ArrayInfo = std::tuple<std::string, std::string, std::vector<std::uint64_t>>;

// A source that another module made.
class SourceHandle {
 public:
  virtual ~SourceHandle() = default;
  // Throws FAILED_PRECONDITION once it is closed.
  virtual ShardSource& open() const = 0;
};

// One thread.
class Reader {
 public:
  Reader(const std::string& path, std::uint32_t attempt, std::uint64_t step, const std::string& io);
  // Of use until the source is closed.
  Reader(std::shared_ptr<SourceHandle> source, std::uint32_t attempt, std::uint64_t step);

  std::vector<ArrayInfo> Arrays() const;
  const std::map<std::string, std::string>& metadata() const { return checkpoint_->manifest().metadata; }
  std::vector<std::string> Matching(const std::string& pattern) const { return checkpoint_->Matching(pattern); }
  void Load(const std::vector<RangeArguments>& ranges);
  void Verify();

 private:
  void CheckOpen() const;

  std::unique_ptr<Directory> directory_;  // null: it comes from source_
  std::shared_ptr<SourceHandle> source_;
  std::unique_ptr<Checkpoint> checkpoint_;
};

void BindReader(pybind11::module_& module);

}  // namespace glim::checkpoint::python
