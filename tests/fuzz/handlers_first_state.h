// The store that each Cluster begins with (handlers_cluster.h), made once by a scheduler that is then stopped: users
// and tokens as rows, so that the tokens are the same in every run; nodes and jobs by the calls that make them.
//
// Users: vera (viewer), kim and lee (users of team vision), tess (its admin), ora (operator), ada (admin). Nodes: n1,
// and host, where users log in; n2 is invited, n9 quarantined. Jobs: 1 of kim, 2 of lee, 3 of kim, cancelled. What
// others must not be told of them are the canaries.
//
// One thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/server/server.h"

namespace glim::fuzz {

inline constexpr const char* kClusterId = "fuzz";
inline constexpr std::string_view kCanaryWord = "canary";  // in each of them
inline constexpr std::string_view kKimsCanary = "kims-canary-5e1f";
inline constexpr std::string_view kLeesCanary = "lees-canary-90aa";
inline constexpr std::string_view kSecretCanary = "secret-canary-c0de";

struct NodePapers {
  std::string name;
  std::string key, certificate;  // PEM
};

struct FirstState {
  std::filesystem::path folder;   // of the store, the key file and the operator's things
  std::string authorities;        // PEM
  std::vector<NodePapers> nodes;  // n1, host
  std::string request;            // for certificates, signed by a key of its own, DER
};
const FirstState& TheFirstState();
// Its folder and all beside it go, at the program's end.
void ForgetFirstState();

// Of a scheduler whose things lie in `folder`.
server::Config ConfigIn(const std::filesystem::path& folder);
std::unique_ptr<server::Server> MustStart(const server::Config& config);

// The text that the user, node or caller of that name shows; the same in every run.
std::string TokenText(std::string_view name);
std::string TokenId(std::string_view name);
std::string MachineOf(const std::string& node);

// To the port of the scheduler on this machine; `papers` null: without a certificate.
std::shared_ptr<grpc::Channel> Connect(int port, const std::string& authorities, const NodePapers* papers);

}  // namespace glim::fuzz
