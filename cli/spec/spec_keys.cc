#include "cli/spec/spec_keys.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "sdk/base/check.h"
#include "sdk/base/suggest.h"

namespace glim::cli {
namespace {

constexpr SpecKey kTop[] = {
    {"apiVersion"},      {"kind"},          {"name"},    {"pool"},    {"priority"}, {"nodes"},    {"gpus_per_node"},
    {"placement"},       {"image"},         {"workdir"}, {"code"},    {"run"},      {"launcher"}, {"env"},
    {"interrupt"},       {"checkpoint"},    {"restart"}, {"mounts"},  {"limits"},   {"after"},    {"watchdog"},
    {"services", false}, {"compat", false}, {"team"},    {"secrets"}, {"api"},      {"notify"}};
constexpr SpecKey kPlacement[] = {{"zones"}, {"leaf"}, {"cross_zone"}, {"gpu_type"}, {"nvlink"}, {"nic"}, {"node"}};
constexpr SpecKey kInterrupt[] = {{"mode"}, {"grace"}, {"max_grace"}, {"signal"}, {"to"}};
constexpr SpecKey kCheckpoint[] = {{"dir"}, {"every"}, {"keep"}, {"if_unreachable"}};
constexpr SpecKey kRestart[] = {{"on"}, {"max"}, {"backoff"}, {"require_fence", false}};

constexpr SpecKey kMount[] = {{"source"}, {"target"}, {"read_only"}};
constexpr SpecKey kSecret[] = {{"name"}, {"env"}};
constexpr SpecKey kNotify[] = {{"on"}, {"to"}};
constexpr SpecKey kWatchdog[] = {{"no_progress"}};
constexpr SpecKey kLimits[] = {{"memory"}, {"cpus"}, {"pids"}, {"shm"}, {"time"}};

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
    {"time", "limits"},         {"depends", "after"},   {"volumes", "mounts"}};

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

}  // namespace glim::cli
