// A stand-in for CUDA's runtime and GDRCopy in one shared library, for tests: "device" memory is the host's, each
// stream is a thread that works through what it was given, in order, beside all others; events are real. Device
// addresses cannot be read or written by the processor: who forgets to copy ends by a signal. Test code alone.
//
// CUDA's names and GDRCopy's are exported as theirs; here are those that a test needs beside.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// CUDA's own.
int cudaMalloc(void** memory, std::size_t bytes);
int cudaFree(void* memory);
int cudaStreamCreateWithFlags(void** stream, unsigned flags);
int cudaStreamDestroy(void* stream);
int cudaStreamSynchronize(void* stream);
int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* argument);
int cudaMemsetAsync(void* memory, int value, std::size_t bytes, void* stream);
int cudaSetDevice(int device);
int cudaGetDevice(int* device);

// At once, whatever the streams do.
void standin_write(void* device, const void* host, std::size_t bytes);
void standin_read(void* host, const void* device, std::size_t bytes);

// Returns when every stream has nothing to do, or waits: for an event, in a function it was given, or for permission to
// copy. What can happen without the test has happened then.
void standin_settle();
// Copies wait for permission from now on, and `count` more may go; negative: all may, which is how it begins.
void standin_allow_copies(std::int64_t count);
// Since the library was loaded: by streams, by GDRCopy, and those of streams from or to host memory that was not pinned
// (which would not be asynchronous).
std::uint64_t standin_copies();
std::uint64_t standin_gdr_copies();
std::uint64_t standin_unpinned_copies();
// Of GDRCopy: what gdr_get_attribute says; mappings that there are.
void standin_set_persistent_mappings(int persistent);
std::uint64_t standin_gdr_mappings();
// What cudaRuntimeGetVersion and cudaGetDeviceCount say.
void standin_set_version(int version);
void standin_set_devices(int count);
// What cuDevicePrimaryCtxGetState says of device 0.
void standin_set_device_0_in_use(int in_use);

}  // extern "C"
