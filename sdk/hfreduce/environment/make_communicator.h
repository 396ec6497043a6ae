// Makes the communicator that a task's environment describes.
#pragma once

#include <memory>
#include <string>

#include "sdk/base/result.h"
#include "sdk/hfreduce/communicator/communicator.h"
#include "sdk/hfreduce/environment/environment.h"

namespace glim::hfreduce {

// Rank 0 serves the store. The port is free again once every rank has returned, so that any number of communicators can
// be made of one environment, one after the other, in the same order on all ranks. Errors: Communicator::Create's, and
// UNAVAILABLE (the port is taken).
Result<std::unique_ptr<Communicator>> MakeCommunicator(const Environment& environment);

// What this process' own environment says (GLIM_ATTEMPT_SECRET_FILE); empty: nothing.
std::string SecretFileOfProcess();

// Of this process' own environment.
Result<std::unique_ptr<Communicator>> CommunicatorFromEnvironment(const CommunicatorOptions& options);

}  // namespace glim::hfreduce
