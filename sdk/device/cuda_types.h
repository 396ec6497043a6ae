// Our declarations of what we use of CUDA's runtime: its functions are found by name, and its headers are not needed.
//
// Names, values and layouts as published in NVIDIA's "CUDA Runtime API" reference,
// https://docs.nvidia.com/cuda/cuda-runtime-api/ (chapters Device, Error Handling, Stream, Event, Execution Control,
// Memory Management and Unified Addressing, and Data types used by CUDA Runtime), for versions 11 and 12; they hold for
// 13. Versions before 11 have another layout of the pointer's attributes and are refused (Runtime::Open).
#pragma once

#include <cstddef>

namespace glim::device {

using StreamHandle = void*;  // cudaStream_t; null: the legacy default stream
using EventHandle = void*;   // cudaEvent_t
using CudaError = int;       // cudaError_t

inline constexpr CudaError kCudaSuccess = 0;
inline constexpr CudaError kCudaErrorNotReady = 600;

inline constexpr unsigned kCudaStreamNonBlocking = 0x01;
inline constexpr unsigned kCudaEventDisableTiming = 0x02;
inline constexpr unsigned kCudaHostRegisterPortable = 0x01;  // pinned for every device's context
inline constexpr unsigned kCudaHostAllocPortable = 0x01;

enum CudaMemcpyKind : int { kCudaMemcpyHostToDevice = 1, kCudaMemcpyDeviceToHost = 2, kCudaMemcpyDefault = 4 };

enum CudaMemoryType : int {
  kCudaMemoryUnregistered = 0,
  kCudaMemoryHost = 1,
  kCudaMemoryDevice = 2,
  kCudaMemoryManaged = 3
};

// cudaPointerAttributes,
// https://docs.nvidia.com/cuda/cuda-runtime-api/structcudaPointerAttributes.html
struct CudaPointerAttributes {
  CudaMemoryType type;
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];  // written from version 13 on
};
static_assert(offsetof(CudaPointerAttributes, device) == 4 && offsetof(CudaPointerAttributes, device_pointer) == 8 &&
                  offsetof(CudaPointerAttributes, host_pointer) == 16 &&
                  offsetof(CudaPointerAttributes, reserved) == 24,
              "as published");

struct CudaFunctions {
  CudaError (*runtime_get_version)(int* version) = nullptr;
  CudaError (*get_device_count)(int* count) = nullptr;
  CudaError (*get_device)(int* device) = nullptr;
  CudaError (*set_device)(int device) = nullptr;
  CudaError (*get_last_error)() = nullptr;
  const char* (*get_error_string)(CudaError error) = nullptr;
  CudaError (*pointer_get_attributes)(CudaPointerAttributes* attributes, const void* pointer) = nullptr;
  CudaError (*host_register)(void* memory, std::size_t bytes, unsigned flags) = nullptr;
  CudaError (*host_unregister)(void* memory) = nullptr;
  CudaError (*host_alloc)(void** memory, std::size_t bytes, unsigned flags) = nullptr;
  CudaError (*free_host)(void* memory) = nullptr;
  CudaError (*stream_create_with_flags)(StreamHandle* stream, unsigned flags) = nullptr;
  CudaError (*stream_destroy)(StreamHandle stream) = nullptr;
  CudaError (*stream_synchronize)(StreamHandle stream) = nullptr;
  CudaError (*stream_wait_event)(StreamHandle stream, EventHandle event, unsigned flags) = nullptr;
  CudaError (*memcpy_async)(void* to, const void* from, std::size_t bytes, CudaMemcpyKind kind,
                            StreamHandle stream) = nullptr;
  CudaError (*launch_host_func)(StreamHandle stream, void (*function)(void*), void* argument) = nullptr;
  CudaError (*event_create_with_flags)(EventHandle* event, unsigned flags) = nullptr;
  CudaError (*event_record)(EventHandle event, StreamHandle stream) = nullptr;
  CudaError (*event_query)(EventHandle event) = nullptr;
  CudaError (*event_synchronize)(EventHandle event) = nullptr;
  CudaError (*event_destroy)(EventHandle event) = nullptr;
  // cuDevicePrimaryCtxGetState of the driver's library; may be null.
  int (*primary_context_get_state)(int device, unsigned* flags, int* active) = nullptr;
};

}  // namespace glim::device
