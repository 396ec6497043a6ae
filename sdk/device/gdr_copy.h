// GDRCopy (https://github.com/NVIDIA/gdrcopy): the processor copies from and to a device's memory that is mapped into
// its own, without asking the device for anything. For little: a device copies faster, but takes some microseconds to
// begin. Loaded when it is asked for.
//
// Not run with the real library: it has run over a stand-in alone (testing/standin_cuda.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "sdk/base/result.h"

namespace glim::device {

struct GdrFunctions;

// Our layout of gdr_mh_t, as published in the library's gdrapi.h.
struct GdrHandle {
  unsigned long h = 0;
};

// Keeps the last mappings: making one takes far longer than the copy. Not thread-safe.
class GdrCopy {
 public:
  // Empty: libgdrapi.so.2, as the loader finds it. UNAVAILABLE: there is none, it lacks something, or its driver does
  // not run; FAILED_PRECONDITION: the driver keeps mappings of memory that was given back (a kept mapping might then
  // show what is no longer there).
  static Result<std::unique_ptr<GdrCopy>> Open(const std::string& library = "");
  ~GdrCopy();
  GdrCopy(const GdrCopy&) = delete;
  GdrCopy& operator=(const GdrCopy&) = delete;

  // Waits for nothing that the device does: its work on this memory must be done before. False: the memory cannot be
  // mapped; copy it another way.
  bool FromDevice(void* to, const void* from, std::size_t bytes);
  bool ToDevice(void* to, const void* from, std::size_t bytes);

 private:
  struct Mapping {
    std::uintptr_t begin = 0;  // on the device
    std::size_t bytes = 0;
    GdrHandle handle;
    void* mapped = nullptr;  // where `begin` is seen
  };

  GdrCopy(std::unique_ptr<GdrFunctions> functions, void* gdr);
  // Null: cannot be had.
  const Mapping* Find(std::uintptr_t begin, std::size_t bytes);
  bool Valid(const Mapping& mapping) const;
  void Remove(std::list<Mapping>::iterator mapping);

  std::unique_ptr<GdrFunctions> functions_;
  void* gdr_;
  std::list<Mapping> mappings_;  // the last used first
};

}  // namespace glim::device
