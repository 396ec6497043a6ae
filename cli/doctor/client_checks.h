// What a machine needs on which people call the scheduler. The judges are pure; ClientLooks gathers.
//
// Sources: client_checks.cc, client_looks.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/finding.h"
#include "cli/doctor/look.h"
#include "cli/doctor/machine.h"
#include "cli/rpc/config.h"
#include "cli/rpc/identity.h"
#include "cli/rpc/interruption.h"
#include "glim/v1/client_api.pb.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/pki/certificate.h"

namespace glim::cli::doctor {

// What main made of flags, variables and files.
struct ClientFacts {
  Status configuration;               // why there are no settings
  Settings settings;                  // else
  std::vector<std::string> files;     // of the configuration that are there
  std::vector<std::string> warnings;  // files that were left out
};

Outcome JudgeConfiguration(const ClientFacts& facts);
// `identity`: as it was found, or why not.
Outcome JudgeTokenFile(const Settings& settings, const Result<Identity>& identity);
Outcome JudgeResolve(const std::string& server, const Status& resolved, const std::string& addresses);
Outcome JudgePort(const std::string& server, const Status& connected);
// `shown`: the certificates that the server showed, or why it did not.
Outcome JudgeTls(const Settings& settings, const Result<Identity>& identity,
                 const Result<std::vector<pki::Certificate>>& shown, TimePoint now);
Outcome JudgeServerCertificate(const pki::Certificate& shown, TimePoint now);
Outcome JudgeToken(const Result<glim::v1::WhoAmIResponse>& who, bool without_identity, TimePoint now);
Outcome JudgeVersion(const std::string& own, const Result<glim::v1::GetVersionResponse>& server);
Outcome JudgeClock(ClockState state);

// What this host sees of the folders that nodes share.
struct WorkdirFacts {
  std::string folder;
  std::string root, marker;  // as the scheduler says them; empty: the cluster has none
  bool root_there = false;
  bool marker_there = false;
  bool in_node_memory = false;  // the folder lies on tmpfs
};
Outcome JudgeWorkdir(const WorkdirFacts& facts);

std::vector<Look> ClientLooks(const ClientFacts& facts, Interruption* interruption);

}  // namespace glim::cli::doctor
