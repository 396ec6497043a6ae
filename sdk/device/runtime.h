// CUDA's runtime, loaded when it is asked for: a program that links this builds and runs without CUDA.
//
// Tests run over a stand-in on host memory (testing/standin_cuda.h), and by tests/device/run over a real device.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "sdk/base/result.h"
#include "sdk/device/cuda_types.h"

namespace glim::device {

struct PointerPlace {
  bool on_device = false;  // also what the driver moves to and fro (managed memory)
  int device = 0;          // if so
};

// Any thread. Failures are INTERNAL with the runtime's words, but for those that say otherwise.
class Runtime {
 public:
  // Version 11 or later. Empty: libcudart.so.13, .12, .11.0 or libcudart.so, as the loader finds them.
  // UNAVAILABLE: there is none, or it lacks something; FAILED_PRECONDITION: too old, or no device.
  static Result<std::shared_ptr<const Runtime>> Open(const std::string& path = "");
  // The one that this process has loaded already, as a program that has buffers on a device has. NOT_FOUND: none.
  // Nothing is loaded or initialised for a program that has not.
  static Result<std::shared_ptr<const Runtime>> Loaded();

  Result<int> DeviceCount() const;
  // The calling thread's.
  Result<int> CurrentDevice() const;
  // Of any address; what the runtime does not know is the host's.
  PointerPlace Find(const void* pointer) const;
  // Copies to and from pinned memory alone go beside other work. RESOURCE_EXHAUSTED. Until Unpin, which must come
  // before the memory goes.
  Status Pin(void* memory, std::size_t bytes) const;
  void Unpin(void* memory) const;
  // Null: there is none.
  void* AllocatePinned(std::size_t bytes) const;
  void FreePinned(void* memory) const;

  const CudaFunctions& functions() const { return functions_; }
  // The library's name, as it was loaded.
  const std::string& library() const { return library_; }
  // "what: invalid argument (1)"
  Status Check(const char* what, CudaError error) const;

 private:
  Runtime(const CudaFunctions& functions, std::string library) : functions_(functions), library_(std::move(library)) {}

  CudaFunctions functions_;
  std::string library_;
};

// The calling thread's device, for as long as it lives. A thread that had a device which this process does not use
// stays with the new one: to go back would take some hundred megabytes there for nothing (from CUDA 12 on).
class DeviceScope {
 public:
  DeviceScope(const Runtime& runtime, int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  const Runtime& runtime_;
  int before_ = 0;
  bool changed_ = false;
};

// An event: without times, which makes it cheap to record and to ask. Any thread.
class Event {
 public:
  static Result<std::unique_ptr<Event>> Create(std::shared_ptr<const Runtime> runtime, int device);
  // What `stream` had at this moment: the stream goes on as if nothing were.
  static Result<std::shared_ptr<Event>> Record(std::shared_ptr<const Runtime> runtime, int device, StreamHandle stream);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Status RecordOn(StreamHandle stream);
  // Whether what was recorded is done.
  Result<bool> Done() const;
  // Blocks until it is.
  Status Wait() const;
  EventHandle handle() const { return handle_; }

 private:
  Event(std::shared_ptr<const Runtime> runtime, EventHandle handle) : runtime_(std::move(runtime)), handle_(handle) {}

  std::shared_ptr<const Runtime> runtime_;
  EventHandle handle_;
};

}  // namespace glim::device
