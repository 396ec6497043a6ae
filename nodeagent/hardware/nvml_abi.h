// What we use of the NVIDIA Management Library's C interface (NVML, API version 12 and the older names beside it), as
// declarations of our own: which symbols there are, what they take, how their structures lie in memory. The names are
// the library's. Source: NVIDIA, "NVML API Reference Guide". Plain C types; nothing is linked.
#pragma once

#include <cstdint>

namespace glim::nodeagent::nvml {

using Return = int;
using Device = struct DeviceOfTheDriver*;  // opaque

inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kVersionMismatch = 18;
inline constexpr Return kUnknown = 999;

// Of InitWithFlags. Without GPUs it does not fail; with the second one no GPU is attached, and it counts none.
inline constexpr unsigned kInitNoGpus = 1, kInitNoAttach = 2;
inline constexpr unsigned kTextBytes = 96;  // of names, identifiers and versions
inline constexpr unsigned kLinksMax = 18;   // NVLink

struct PciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {  // nvmlMemory_t
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;  // with what the driver reserves
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {  // nvmlMemory_v2_t
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(MemoryV2) == 40);
inline constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2u << 24;

struct ProcessInfo {  // nvmlProcessInfo_v2_t, of the functions _v2 and _v3
  unsigned pid;
  unsigned long long used_memory;  // all ones: not known
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

struct Utilization {  // nvmlUtilization_t
  unsigned gpu;
  unsigned memory;
};

// nvmlMemoryErrorType_t, nvmlEccCounterType_t
inline constexpr int kCorrected = 0, kUncorrected = 1;
inline constexpr int kVolatile = 0, kAggregate = 1;
// nvmlIntNvLinkDeviceType_t
inline constexpr int kLinkToGpu = 0, kLinkToSwitch = 2;
// nvmlClockType_t
inline constexpr int kClockSm = 1, kClockMemory = 2;
// nvmlClocksEventReasons
inline constexpr unsigned long long kThrottleIdle = 0x1, kThrottleApplications = 0x2, kThrottlePowerCap = 0x4,
                                    kThrottleHardware = 0x8, kThrottleSyncBoost = 0x10, kThrottleSoftwareThermal = 0x20,
                                    kThrottleHardwareThermal = 0x40, kThrottlePowerBrake = 0x80,
                                    kThrottleDisplay = 0x100;

using InitWithFlags = Return(unsigned flags);
using Shutdown = Return();
using ErrorString = const char*(Return);
using SystemText = Return(char* text, unsigned bytes);                            // SystemGetDriverVersion
using Count = Return(unsigned* count);                                            // DeviceGetCount_v2
using HandleByIndex = Return(unsigned index, Device* device);                     // DeviceGetHandleByIndex_v2
using DeviceText = Return(Device, char* text, unsigned bytes);                    // DeviceGetName, DeviceGetUUID
using DevicePci = Return(Device, PciInfo*);                                       // DeviceGetPciInfo_v3
using DeviceMemory = Return(Device, Memory*);                                     // DeviceGetMemoryInfo
using DeviceMemoryV2 = Return(Device, MemoryV2*);                                 // DeviceGetMemoryInfo_v2
using DeviceProcesses = Return(Device, unsigned* count, ProcessInfo* processes);  // ...RunningProcesses_v3, _v2
using DeviceMig = Return(Device, unsigned* current, unsigned* pending);           // DeviceGetMigMode
using DeviceLinkState = Return(Device, unsigned link, int* active);               // DeviceGetNvLinkState
using DeviceLinkPci = Return(Device, unsigned link, PciInfo*);                    // DeviceGetNvLinkRemotePciInfo_v2
using DeviceLinkType = Return(Device, unsigned link, int* type);                  // DeviceGetNvLinkRemoteDeviceType
using DeviceEcc = Return(Device, int error, int counter, unsigned long long*);    // DeviceGetTotalEccErrors
using DeviceRows = Return(Device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                          unsigned* failed);                   // DeviceGetRemappedRows
using DeviceFlag = Return(Device, int* enabled);               // DeviceGetRetiredPagesPendingStatus
using DeviceNumber = Return(Device, unsigned*);                // PCIe generations and widths, the replay counter
using DeviceClock = Return(Device, int clock, unsigned* mhz);  // DeviceGetClockInfo, DeviceGetMaxClockInfo
using DeviceReasons = Return(Device, unsigned long long*);     // DeviceGetCurrentClocksThrottleReasons
using DeviceUtilization = Return(Device, Utilization*);        // DeviceGetUtilizationRates
using DeviceTemperature = Return(Device, int sensor, unsigned* celsius);

}  // namespace glim::nodeagent::nvml
