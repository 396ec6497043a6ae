// The bounds of a job's spec, once: server and command line refuse by them (validate_spec.h), the agent holds to them
// what a stranger could send it, deploy/job.schema.json says the same (scheduler/jobfile/spec_schema_test.cc). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/base/snapshot_name.h"
#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::core {

inline constexpr std::size_t kSpecNameBytesMax = 128;
inline constexpr std::size_t kSpecTextBytesMax = 16 * 1024;        // of `run`, and of a variable's value
inline constexpr std::size_t kSpecEnvAndRunBytesMax = 256 * 1024;  // names, values and `run`, in all
inline constexpr std::size_t kSpecPathBytesMax = 1024;
inline constexpr std::size_t kSpecEnvMax = 256;
inline constexpr std::size_t kSpecZonesMax = 64;
inline constexpr std::size_t kSpecMountsMax = 64;
inline constexpr std::size_t kSpecAfterMax = 64;
inline constexpr std::size_t kSpecSecretsMax = 32;
inline constexpr std::size_t kSpecNotifyMax = 8;  // names
inline constexpr std::size_t kSecretNameBytesMax = 64;
inline constexpr std::size_t kSecretBytesMax = 64 << 10;
inline constexpr std::size_t kSecretsOfUserMax = 256;
inline constexpr std::size_t kSecretBytesOfUserMax = 16 << 20;  // in all

inline constexpr std::string_view kSpecSignals[] = {"TERM", "INT", "USR1", "USR2"};
inline constexpr std::string_view kSpecNics[] = {"infiniband", "roce", "ethernet"};
inline constexpr std::string_view kSpecRestartCauses[] = {"node_failure", "xid", "network", "hang"};

inline constexpr TimePoint kSpecStartAfterMost{253'402'300'799'999};  // the end of the year 9999
inline constexpr Duration kSpecStartsWithin = Hours(24) * 366;        // from the submission

// How an amount is written in a spec.
enum class AmountUnit { kCount, kTime, kBytes, kMilliCpus };

struct AmountRange {
  std::string_view field;
  std::int64_t low;
  std::int64_t high;
  AmountUnit unit = AmountUnit::kCount;
  bool optional = false;  // 0 stands for "not said"
};

inline constexpr AmountRange kAmountRanges[] = {
    {"nodes", 1, 20'000},
    {"gpus_per_node", 0, 64},
    {"interrupt.grace", 0, Hours(24).ms, AmountUnit::kTime},
    {"interrupt.max_grace", 0, Hours(24).ms, AmountUnit::kTime},
    {"checkpoint.every", Seconds(1).ms, Hours(24 * 30).ms, AmountUnit::kTime, true},
    {"checkpoint.keep", 1, 1000},
    {"restart.max", 0, 10'000},
    {"restart.backoff", 0, Hours(24).ms, AmountUnit::kTime},
    {"watchdog.no_progress", Seconds(5).ms, Hours(24 * 7).ms, AmountUnit::kTime, true},
    {"limits.memory", std::int64_t{16} << 20, std::int64_t{1} << 50, AmountUnit::kBytes, true},  // less starts nothing
    {"limits.cpus", 10, 4'096'000, AmountUnit::kMilliCpus, true},
    {"limits.pids", 16, 4'194'304, AmountUnit::kCount, true},
    {"limits.shm", std::int64_t{1} << 20, std::int64_t{1} << 50, AmountUnit::kBytes, true},
    {"limits.time", Seconds(1).ms, Hours(24 * 365).ms, AmountUnit::kTime, true},
    {"snapshot.bytes", 1, kSnapshotArchiveBytesMax, AmountUnit::kBytes},
};

// Refuses what is beyond the field's range: "0 is out of range", "use 1 to 20000". The field has a row (CHECK).
Status CheckAmount(std::string_view field, std::int64_t value);

// Absolute, and with one spelling: "/data", not "/data/", "//data" or "/x/../data". What is allowed to a job is told by
// its path, so a path must not mean another than it says.
bool IsPlainAbsolutePath(std::string_view path);

}  // namespace glim::core
