// CUDA's driver API on host memory, for tests: the real names and types (driver_types.h), in the same library as the
// runtime's stand-in. Kernels are executed on the CPU (standin_ptx.h). Time is the stand-in's own: what a thing takes
// is worked out from what it does, so that figures are the same on every machine. Streams are done at once.
//
// The variable GLIM_STANDIN_GPUS names a JSON file, which cuInit reads; without it cuInit says that there is no GPU.
//
//   {"init": 0,                        what cuInit returns
//    "gpus": [{"name": "NVIDIA A100-SXM4-80GB", "pci": "0000:10:00.0", "memory_kib": 1024, "capability": 8,
//              "speed": 1,             of its kernels
//              "to_device_gbps": 25, "to_host_gbps": 25,
//              "stuck": {"byte": 4096, "bits": 4},   of the largest memory that is taken: these bits are always 1
//              "wrong": {"kernel": "glim_multiply_f32", "byte": 64, "bits": 1},  turned in what the third argument
//                                                                              leads to, after each launch
//              "codes": {"cuLaunchKernel": 700}}],   what calls about it return
//    "peer_gbps": 200,
//    "pairs": {"0>1": 20},             of single pairs; 0: neither reaches the other by itself, 10 through the host
//   }
#pragma once
