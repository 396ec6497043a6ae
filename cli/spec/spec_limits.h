// What a value of a job spec may be, the same for YAML files and command-line flags. The server checks again; here a
// fault is found before anything crosses the network. Pure. Every refusal is kInvalidArgument and names the field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::cli {

inline constexpr std::size_t kNameBytesMax = 128;
inline constexpr std::size_t kRunBytesMax = 16 * 1024;
inline constexpr std::size_t kPathBytesMax = 1024;
inline constexpr std::size_t kEnvValueBytesMax = 16 * 1024;
inline constexpr std::size_t kEnvEntriesMax = 256;
inline constexpr std::size_t kZonesMax = 64;
inline constexpr std::int64_t kNodesMax = 20'000;
inline constexpr std::int64_t kGpusPerNodeMax = 64;
inline constexpr std::size_t kMountsMax = 64;
inline constexpr std::int64_t kMemoryMin = 16 << 20;  // with less no program starts
inline constexpr std::int64_t kSizeMin = 1 << 20;
inline constexpr std::int64_t kSizeMax = std::int64_t{1} << 50;
inline constexpr std::int64_t kCpuMillisMin = 10;
inline constexpr std::int64_t kCpuMillisMax = 4'096'000;
inline constexpr std::int64_t kPidsMin = 16;
inline constexpr std::int64_t kPidsMax = 4'194'304;
inline constexpr std::int64_t kKeepMax = 1000;
inline constexpr std::int64_t kRestartsMax = 10'000;
inline constexpr std::size_t kAfterMax = 64;
inline constexpr Duration kTimeLimitMin = Seconds(1);
inline constexpr Duration kTimeLimitMax = Hours(24 * 365);

inline constexpr std::string_view kPriorities[] = {"auto",         "low",  "below_normal", "under_normal", "normal",
                                                   "above_normal", "high", "very_high",    "extreme_high"};
inline constexpr std::string_view kCodes[] = {"workdir", "snapshot"};
inline constexpr std::string_view kLaunchers[] = {"node", "per-gpu"};
inline constexpr std::string_view kLeafPolicies[] = {"pack", "any"};
inline constexpr std::string_view kCrossZones[] = {"auto", "never"};
inline constexpr std::string_view kIfUnreachable[] = {"older", "wait"};
inline constexpr std::string_view kNvlinks[] = {"none", "pair", "full"};
inline constexpr std::string_view kNics[] = {"infiniband", "roce", "ethernet"};
inline constexpr std::string_view kModes[] = {"cooperative", "signal"};
inline constexpr std::string_view kSignals[] = {"TERM", "INT", "USR1", "USR2"};
inline constexpr std::string_view kDependencyKinds[] = {"ok", "failed", "any"};
inline constexpr std::string_view kRestartCauses[] = {"node_failure", "xid", "hang"};

// 1 to 128 letters, digits, '.', '_' and '-', not starting with '.' or '-': a job's name becomes part of paths.
Status CheckName(const std::string& field, const std::string& value);
// A class by name or number.
Status CheckPriority(const std::string& field, const std::string& value);
// Any text but control characters (newline and tab pass in `run`).
Status CheckRun(const std::string& field, const std::string& value);
// Absolute, without control characters; $GLIM_JOB_ID and $GLIM_JOB_NAME are the only variables.
Status CheckCheckpointDir(const std::string& field, const std::string& value);
// Absolute and in its one spelling: no '..', '.', '//' or '/' at its end.
Status CheckMountPath(const std::string& field, const std::string& value);
Status CheckPath(const std::string& field, const std::string& value);
// "812" or "812:ok", "812:failed", "812:any": a job's number, and how it must have ended.
Status CheckDependency(const std::string& field, const std::string& value);
// A shell variable's name that is not one of Glim's own.
Status CheckEnvName(const std::string& field, const std::string& value);
Status CheckEnvValue(const std::string& field, const std::string& value);
Status CheckOneOf(const std::string& field, const std::string& value, std::span<const std::string_view> words);
// A job that is started once for every GPU needs one.
Status CheckRanks(const std::string& launcher, std::int64_t gpus_per_node);
Status CheckRange(const std::string& field, std::int64_t value, std::int64_t least, std::int64_t most);

}  // namespace glim::cli
