// What a machine needs on which glim-scheduler runs. The judges are pure; ServerLooks gathers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/finding.h"
#include "cli/doctor/look.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/program.h"
#include "cli/doctor/shared_checks.h"
#include "sdk/base/time.h"

namespace glim::cli::doctor {

// The scheduler's settings, by its own program. `config`: empty is /etc/glim/scheduler.yaml. Bounded in time.
SettingsFacts AskSchedulerSettings(const Machine& machine, const std::string& config);

struct SqliteFacts {
  std::string path;
  FileFacts file, folder;
  RoomFacts room;
};
Outcome JudgeSqlite(const SqliteFacts& facts);
// `answer`: what `glim-scheduler settings --ask-store` printed; `who` asked.
Outcome JudgePostgres(const ProgramEnd& answer, const std::string& who);

struct KeyFileFacts {
  std::string path;
  FileFacts file;
  bool beside_store = false;
  bool store_there = false;  // what it seals
  bool without_identity = false;
};
Outcome JudgeKeyFile(const KeyFileFacts& facts);

// `metrics`: HOST:PORT or none.
Outcome JudgeMetrics(const std::string& metrics, const Status& connected);
// Where this machine itself reaches what listens at `listen`: 0.0.0.0 is 127.0.0.1.
std::string ReachedHere(const std::string& listen);

std::vector<Look> ServerLooks(const SettingsFacts& facts);

}  // namespace glim::cli::doctor
