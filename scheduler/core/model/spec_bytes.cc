#include "scheduler/core/model/spec_bytes.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace glim::core {
namespace {

// JSON writes these as two characters; other control characters are in no spec.
bool IsWrittenTwice(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

std::int64_t TextBytes(std::string_view text) {
  return static_cast<std::int64_t>(text.size()) + std::count_if(text.begin(), text.end(), IsWrittenTwice);
}

std::int64_t TextsBytes(const std::vector<std::string>& texts) {
  std::int64_t bytes = 0;
  for (const std::string& text : texts) bytes += kElementBytes + TextBytes(text);
  return bytes;
}

// Of the lists and texts that may be long, by the field's name.
std::array<std::pair<const char*, std::int64_t>, 10> ByField(const JobSpec& spec) {
  std::int64_t env = 0, mounts = 0, secrets = 0;
  for (const auto& [name, value] : spec.env) env += kElementBytes + TextBytes(name) + TextBytes(value);
  for (const Mount& mount : spec.mounts) mounts += kElementBytes + TextBytes(mount.source) + TextBytes(mount.target);
  for (const SecretUse& use : spec.secrets) secrets += kElementBytes + TextBytes(use.name) + TextBytes(use.env);
  return {{{"env", env},
           {"run", TextBytes(spec.run)},
           {"mounts", mounts},
           {"after", static_cast<std::int64_t>(spec.after.size()) * kElementBytes},
           {"placement.zones", TextsBytes(spec.placement.zones)},
           {"secrets", secrets},
           {"notify", TextsBytes(spec.notify.on) + TextsBytes(spec.notify.to)},
           {"workdir", TextBytes(spec.workdir)},
           {"checkpoint.dir", TextBytes(spec.checkpoint_dir)},
           {"snapshot.path", TextBytes(spec.snapshot.path)}}};
}

}  // namespace

std::int64_t SpecBytes(const JobSpec& spec) {
  std::int64_t bytes = kJobBytes + TextsBytes(spec.restart_on);
  for (const auto& [field, of_field] : ByField(spec)) bytes += of_field;
  const Placement& placement = spec.placement;
  for (const std::string* text : {&spec.name, &spec.pool, &spec.image, &spec.team, &spec.interrupt_signal,
                                  &placement.gpu_type, &placement.nic, &placement.node, &spec.snapshot.revision}) {
    bytes += TextBytes(*text);
  }
  return bytes;
}

std::int64_t TaleBytes(const Job& job) {
  const auto of_save = [](const Checkpoint& save) {
    return static_cast<std::int64_t>(save.path.size() + save.local.size());
  };
  std::int64_t bytes = static_cast<std::int64_t>(job.message.size()) + of_save(job.durable);
  for (const Checkpoint& save : job.older) bytes += kElementBytes + of_save(save);
  return bytes;
}

std::string LargestField(const JobSpec& spec) {
  const auto fields = ByField(spec);
  const auto most =
      std::max_element(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->second > kJobBytes ? most->first : "";
}

}  // namespace glim::core
