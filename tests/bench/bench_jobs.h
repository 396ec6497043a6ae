// The jobs that benchmarks submit by themselves, and as whom.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>

#include "glim/v1/client_api.grpc.pb.h"

namespace glim::bench {

inline constexpr std::chrono::seconds kPatience{120};  // with a scheduler, whatever it is asked
inline constexpr int kUsers = 20;                      // of jobs that are not one user's

// As glim submits it: a short command on so many nodes, everything else by default.
v1::JobSpec MakeSpec(std::uint32_t nodes, std::uint32_t gpus_per_node);

// The call is one of the user with that number, of a scheduler without tokens.
void AskAs(int user, grpc::ClientContext* context);

std::int64_t NowMs();

}  // namespace glim::bench
