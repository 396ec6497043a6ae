// An opened checkpoint as Python sees it, and questions to a checkpoints' directory.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sdk/checkpoint/load/loader.h"
#include "sdk/checkpoint/python/saver.h"

namespace glim::checkpoint::python {

// A range of an array to read: name, first byte, address, bytes.
using RangeArguments = std::tuple<std::string, std::uint64_t, std::uintptr_t, std::size_t>;
// Name, type, shape.
using ArrayInfo = std::tuple<std::string, std::string, std::vector<std::uint64_t>>;

// One thread.
class Reader {
 public:
  Reader(const std::string& path, std::uint32_t attempt, std::uint64_t step, const std::string& io);

  std::vector<ArrayInfo> Arrays() const;
  const std::map<std::string, std::string>& metadata() const { return checkpoint_->manifest().metadata; }
  std::vector<std::string> Matching(const std::string& pattern) const { return checkpoint_->Matching(pattern); }
  void Load(const std::vector<RangeArguments>& ranges);
  void Verify();

 private:
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<Checkpoint> checkpoint_;
};

void BindReader(pybind11::module_& module);

}  // namespace glim::checkpoint::python
