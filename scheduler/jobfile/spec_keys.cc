#include "scheduler/jobfile/spec_keys.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "sdk/base/check.h"
#include "sdk/base/suggest.h"

namespace glim::jobfile {
namespace {

using enum KeyKind;
constexpr Reading kApart = Reading::kApart;

// In the order in which a file is written.
constexpr SpecKey kTop[] = {{"apiVersion"},
                            {"kind"},
                            {"name", kText, "name", "", kApart},
                            {"team", kText, "team"},
                            {"pool", kText, "pool"},
                            {"priority", kText, "priority", "normal"},
                            {"nodes", kCount, "nodes", "1"},
                            {"gpus_per_node", kCount, "gpus_per_node", "8"},
                            {"placement"},
                            {"image", kText, "image", "host"},
                            {"workdir", kText, "workdir", "", kApart},
                            {"code"},
                            {"run", kText, "run", "", kApart},
                            {"launcher"},
                            {"env"},
                            {"interrupt"},
                            {"checkpoint"},
                            {"restart"},
                            {"watchdog"},
                            {"mounts"},
                            {"limits"},
                            {"secrets"},
                            {"api", kFlag, "api"},
                            {"notify"},
                            {"after"},
                            {"start_after", kMoment, "start_after_ms"},
                            {"services", kRefused},
                            {"compat", kRefused}};
constexpr SpecKey kPlacement[] = {{"zones", kTexts, "placement.zones"},
                                  {"leaf", kText, "placement.leaf", "pack"},
                                  {"cross_zone", kText, "placement.cross_zone", "auto"},
                                  {"gpu_type", kText, "placement.gpu_type"},
                                  {"nvlink", kText, "placement.nvlink"},
                                  {"nic", kText, "placement.nic"},
                                  {"node", kText, "placement.node"}};
constexpr SpecKey kInterrupt[] = {{"mode", kText, "interrupt.mode", "auto"},
                                  {"grace", kTime, "interrupt.grace_ms", "60s"},
                                  {"max_grace", kTime, "interrupt.max_grace_ms", "300s", kApart},
                                  {"signal", kText, "interrupt.signal", "TERM"},
                                  {"to", kText, "interrupt.to", "main"}};
constexpr SpecKey kCheckpoint[] = {{"dir", kText, "checkpoint.dir"},
                                   {"every", kTime, "checkpoint.every_ms"},
                                   {"keep", kCount, "checkpoint.keep", "3"},
                                   {"if_unreachable", kText, "checkpoint.if_unreachable", "older"}};
constexpr SpecKey kRestart[] = {{"on", kTexts, "restart.on", "", kApart},
                                {"max", kCount, "restart.max", "20"},
                                {"backoff", kTime, "restart.backoff_ms", "30s"},
                                {"require_fence", kRefused}};
constexpr SpecKey kWatchdog[] = {{"no_progress", kTime, "no_progress_ms"}};
constexpr SpecKey kLimits[] = {{"memory", kSize, "limits.memory_bytes"},
                               {"cpus", kCpus, "limits.cpu_millis"},
                               {"pids", kCount, "limits.pids"},
                               {"shm", kSize, "limits.shm_bytes"},
                               {"time", kTime, "time_limit_ms"}};
constexpr SpecKey kNotify[] = {{"on", kTexts, "notify.on"}, {"to", kTexts, "notify.to"}};
// Of the items of a list.
constexpr SpecKey kMount[] = {{"source"}, {"target"}, {"read_only"}};
constexpr SpecKey kSecret[] = {{"name"}, {"env"}};

constexpr SpecSection kSections[] = {{"", kTop},
                                     {"placement", kPlacement},
                                     {"interrupt", kInterrupt},
                                     {"checkpoint", kCheckpoint},
                                     {"restart", kRestart},
                                     {"mounts[]", kMount},
                                     {"secrets[]", kSecret},
                                     {"limits", kLimits},
                                     {"watchdog", kWatchdog},
                                     {"notify", kNotify}};

// What other schedulers call the same thing.
struct Synonym {
  std::string_view theirs;
  std::string_view ours;
};
constexpr Synonym kSynonyms[] = {
    {"command", "run"},         {"cmd", "run"},         {"script", "run"},     {"cwd", "workdir"},
    {"working_dir", "workdir"}, {"environment", "env"}, {"replicas", "nodes"}, {"num_nodes", "nodes"},
    {"gpus", "gpus_per_node"},  {"partition", "pool"},  {"queue", "pool"},     {"group", "pool"},
    {"time", "limits"},         {"depends", "after"},   {"volumes", "mounts"}, {"begin", "start_after"}};

}  // namespace

std::span<const SpecSection> SpecSections() { return kSections; }

const SpecSection& FindSpecSection(std::string_view path) {
  // "mounts[3]" is one of "mounts[]".
  const bool item = path.ends_with(']');
  const std::string name = item ? std::string(path.substr(0, path.find('['))) + "[]" : std::string(path);
  const auto* found = std::find_if(std::begin(kSections), std::end(kSections),
                                   [&name](const SpecSection& section) { return section.path == name; });
  GLIM_CHECK(found != std::end(kSections), "no such section of a job spec");
  return *found;
}

const SpecKey& FindSpecKey(std::string_view path, std::string_view name) {
  const auto keys = FindSpecSection(path).keys;
  const auto found = std::find_if(keys.begin(), keys.end(), [name](const SpecKey& key) { return key.name == name; });
  GLIM_CHECK(found != keys.end(), "no such key of a job spec");
  return *found;
}

std::string SuggestSpecKey(std::string_view path, std::string_view key) {
  std::vector<std::string_view> words;
  for (const SpecKey& known : FindSpecSection(path).keys) words.push_back(known.name);
  if (const std::string nearest = Nearest(key, words); !nearest.empty()) {
    return fmt::format("did you mean '{}'?", nearest);
  }
  if (path.empty()) {
    for (const Synonym& synonym : kSynonyms) {
      if (synonym.theirs == key) return fmt::format("did you mean '{}'?", synonym.ours);
    }
  }
  for (const SpecSection& section : kSections) {
    for (const SpecKey& known : section.keys) {
      if (known.name != key) continue;
      return section.path.empty() ? fmt::format("'{}' belongs at the top level", key)
                                  : fmt::format("did you mean '{}.{}'?", section.path, key);
    }
  }
  return fmt::format("known here: {}", fmt::join(words, ", "));
}

}  // namespace glim::jobfile
