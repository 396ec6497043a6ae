// A node's labels against what its agent found there: in words, for people. Pure.
#pragma once

#include <string>

#include "scheduler/core/model/health.h"
#include "scheduler/core/model/rows.h"

namespace glim::core {

// "its labels say 8 GPUs of a100, its agent found 7 (NVIDIA A100-SXM4-80GB); they say nic infiniband, its agent found
// no such card". Empty: they do not differ. What the labels leave open differs from nothing: no GPUs, no type, no
// NVLink, any network but infiniband and roce. Nothing is compared where GPUs are simulated: such labels say what the
// node plays. The same hardware gives the same words each time: what an operator has accepted is known again by them.
//
// A type fits if its letters and digits stand as words in the driver's name, in their order: "a100" and "a100-80gb" fit
// NVIDIA A100-SXM4-80GB, "rtx4090" fits NVIDIA GeForce RTX 4090, and "a10" fits neither.
std::string HardwareDifferences(const NodeLabels& labels, const NodeInventory& inventory);

}  // namespace glim::core
