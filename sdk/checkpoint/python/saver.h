// A Saver as Python sees it: arrays are addresses; the interpreter's lock is let go of while anything takes time.
#pragma once

#include <pybind11/pybind11.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sdk/checkpoint/save/saver.h"

namespace glim::checkpoint::python {

// An array of the caller's: name, type, shape, placement ("own", "replicated", "rows"), first row, rows, address,
// bytes, and whether the address is a device's.
using ArrayArguments = std::tuple<std::string, std::string, std::vector<std::uint64_t>, std::string, std::uint64_t,
                                  std::uint64_t, std::uintptr_t, std::size_t, bool>;
using StreamsByDevice = std::map<int, std::uintptr_t>;
using IdPair = std::pair<std::uint32_t, std::uint64_t>;  // attempt, step

IdPair PairOf(CheckpointId id);
// "auto", "io_uring", "pwrite", "usrbio"; ValueError.
IoKind IoKindNamed(const std::string& name);

// Called by one thread, as Saver.
class PySaver {
 public:
  explicit PySaver(const SaverOptions& options);
  // In a forked child nothing is waited for: the thread that would end it is the parent's.
  ~PySaver();
  PySaver(const PySaver&) = delete;
  PySaver& operator=(const PySaver&) = delete;

  // nullptr: skipped. `streams`: of each device with arrays, the one that wrote them; none: the default one.
  std::shared_ptr<SaveHandle> SaveAsync(std::uint64_t step, const std::vector<ArrayArguments>& arrays,
                                        const std::map<std::string, std::string>& metadata,
                                        const StreamsByDevice& streams);
  // Waits for what is on its way. Again: nothing happens.
  void Close();
  std::optional<IdPair> base() const { return base_; }
  std::uint32_t world() const { return world_; }

 private:
  const std::uint32_t world_;
  const pid_t process_;
  StreamsByDevice streams_;       // of the save that is being taken
  std::unique_ptr<Saver> saver_;  // null once closed
  std::optional<IdPair> base_;
};

void BindSaver(pybind11::module_& module);

}  // namespace glim::checkpoint::python
