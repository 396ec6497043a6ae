// Our declarations of what we use of CUDA's driver API: its functions are found by name; its headers are not needed.
//
// Names, values and layouts as published in NVIDIA's "CUDA Driver API" reference,
// https://docs.nvidia.com/cuda/cuda-driver-api/ (chapters Initialization, Device, Primary Context, Context, Module,
// Memory, Stream, Event, Execution Control and Peer Context), for versions 11 to 13. Where its headers give a name
// another version, that version is asked for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace glim::device {

using DriverError = int;              // CUresult
using DriverHandle = void*;           // CUcontext, CUmodule, CUfunction, CUstream, CUevent
using DeviceAddress = std::uint64_t;  // CUdeviceptr

inline constexpr DriverError kDriverSuccess = 0;
inline constexpr DriverError kDriverOutOfMemory = 2;
inline constexpr DriverError kDriverDeviceUnavailable = 46;  // another process has it for itself
inline constexpr DriverError kDriverNoDevice = 100;

inline constexpr int kAttributeMultiprocessors = 16;
inline constexpr int kAttributeCapabilityMajor = 75;

inline constexpr unsigned kHostAllocPortable = 0x01;
inline constexpr unsigned kStreamNonBlocking = 0x01;

struct DriverFunctions {
  DriverError (*init)(unsigned flags) = nullptr;
  DriverError (*get_error_string)(DriverError error, const char** text) = nullptr;
  DriverError (*device_get_count)(int* count) = nullptr;
  DriverError (*device_get)(int* device, int index) = nullptr;
  DriverError (*device_get_name)(char* name, int bytes, int device) = nullptr;
  DriverError (*device_get_attribute)(int* value, int attribute, int device) = nullptr;
  DriverError (*device_get_pci_bus_id)(char* address, int bytes, int device) = nullptr;
  DriverError (*device_can_access_peer)(int* can, int device, int peer) = nullptr;
  DriverError (*primary_context_retain)(DriverHandle* context, int device) = nullptr;
  DriverError (*primary_context_release)(int device) = nullptr;
  DriverError (*context_set_current)(DriverHandle context) = nullptr;
  DriverError (*context_enable_peer_access)(DriverHandle peer, unsigned flags) = nullptr;
  DriverError (*memory_get_info)(std::size_t* free, std::size_t* total) = nullptr;
  DriverError (*memory_allocate)(DeviceAddress* address, std::size_t bytes) = nullptr;
  DriverError (*memory_free)(DeviceAddress address) = nullptr;
  DriverError (*host_allocate)(void** memory, std::size_t bytes, unsigned flags) = nullptr;
  DriverError (*host_free)(void* memory) = nullptr;
  DriverError (*copy_to_device)(DeviceAddress to, const void* from, std::size_t bytes, DriverHandle stream) = nullptr;
  DriverError (*copy_to_host)(void* to, DeviceAddress from, std::size_t bytes, DriverHandle stream) = nullptr;
  DriverError (*copy_to_peer)(DeviceAddress to, DriverHandle to_context, DeviceAddress from, DriverHandle from_context,
                              std::size_t bytes, DriverHandle stream) = nullptr;
  DriverError (*stream_create)(DriverHandle* stream, unsigned flags) = nullptr;
  DriverError (*stream_synchronize)(DriverHandle stream) = nullptr;
  DriverError (*stream_destroy)(DriverHandle stream) = nullptr;
  DriverError (*event_create)(DriverHandle* event, unsigned flags) = nullptr;
  DriverError (*event_record)(DriverHandle event, DriverHandle stream) = nullptr;
  DriverError (*event_synchronize)(DriverHandle event) = nullptr;
  DriverError (*event_elapsed)(float* ms, DriverHandle begin, DriverHandle end) = nullptr;
  DriverError (*event_destroy)(DriverHandle event) = nullptr;
  DriverError (*module_load)(DriverHandle* module, const void* image) = nullptr;
  DriverError (*module_unload)(DriverHandle module) = nullptr;
  DriverError (*module_get_function)(DriverHandle* function, DriverHandle module, const char* name) = nullptr;
  DriverError (*launch)(DriverHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, DriverHandle stream,
                        void** arguments, void** extra) = nullptr;
};

}  // namespace glim::device
