#include "scheduler/policy/policy_numbers.h"

#include <array>
#include <filesystem>
#include <utility>

#include "scheduler/policy/policy_by_class.h"
#include "scheduler/policy/policy_notify.h"
#include "scheduler/policy/policy_price.h"
#include "scheduler/policy/policy_retention.h"
#include "scheduler/policy/policy_task_users.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/printable.h"
#include "sdk/base/size_text.h"

namespace glim::server {
namespace {

using core::Policy;

constexpr std::int64_t kCountMax = 10'000'000;
constexpr std::int64_t kSpecBytesMin = std::int64_t{1} << 20;  // the largest spec
constexpr std::int64_t kSpecBytesMax = std::int64_t{1} << 40;
constexpr Duration kDay = Hours(24);
constexpr std::size_t kFolderBytesMax = 1024;

PolicyNumber Time(const char* key, Duration Policy::*member, Duration low, Duration high) {
  return {key, [=](Policy* p) { return yaml::IntoDuration(&(p->*member), low, high); },
          [=](const Policy& p) { return WriteDuration(p.*member); }};
}

template <typename Number>
PolicyNumber Count(const char* key, Number Policy::*member, std::int64_t low, std::int64_t high) {
  return {key, [=](Policy* p) { return yaml::IntoNumber(&(p->*member), low, high); },
          [=](const Policy& p) { return std::to_string(p.*member); }};
}

PolicyNumber Permille(const char* key, std::int64_t Policy::*member, std::int64_t low, std::int64_t high) {
  return {key, [=](Policy* p) { return yaml::IntoPermille(&(p->*member), low, high); },
          [=](const Policy& p) { return yaml::PermilleText(p.*member); }};
}

PolicyNumber Size(const char* key, std::int64_t Policy::*member, std::int64_t low, std::int64_t high) {
  return {key, [=](Policy* p) { return yaml::IntoSize(&(p->*member), low, high); },
          [=](const Policy& p) { return WriteSize(p.*member); }};
}

PolicyNumber Switch(const char* key, bool Policy::*member) {
  return {key, [=](Policy* p) { return yaml::IntoBool(&(p->*member)); },
          [=](const Policy& p) { return std::string(p.*member ? "true" : "false"); }};
}

PolicyNumber TimeByClass(const char* key, core::ClassDurations Policy::*member, Duration low, Duration high) {
  return {key, [=](Policy* p) { return IntoClassDurations(&(p->*member), low, high); },
          [=](const Policy& p) { return ClassDurationsYaml(p.*member); }};
}

PolicySection Slicing() {
  return {"Time slicing inside a class",
          {Time("quantum_min", &Policy::quantum_min, {}, kDay * 30),
           Time("quantum_max", &Policy::quantum_max, {}, kDay * 365),
           Time("starvation_bound", &Policy::starvation_bound, Seconds(1), kDay * 365),
           Time("switch_cost", &Policy::switch_cost, {}, kDay),
           Permille("preempt_gain", &Policy::preempt_gain_permille, 1000, 1'000'000),
           Permille("size_weight", &Policy::size_weight_permille, 0, 10'000),
           Permille("age_weight", &Policy::age_weight_permille, 0, 10'000),
           Time("replan_interval", &Policy::replan_interval, Milliseconds(100), kDay),
           Time("backfill_hold_after", &Policy::backfill_hold_after, {}, kDay * 30),
           Switch("enforce_time_limits", &Policy::enforce_time_limits)}};
}

PolicySection CrossZone() {
  return {"Cross-zone allocations", {Count("cross_zone_nodes_min", &Policy::cross_zone_nodes_min, 2, kCountMax)}};
}

PolicySection Interrupts() {
  return {"Interrupts and starts",
          {Permille("move_gain", &Policy::move_gain_permille, 0, 1'000'000),
           Time("save_wait_max", &Policy::save_wait_max, {}, kDay),
           Time("agree_max", &Policy::agree_max, Milliseconds(100), kDay),
           TimeByClass("grace_cap", &Policy::grace_cap, {}, kDay),
           TimeByClass("max_grace_cap", &Policy::max_grace_cap, {}, kDay),
           Count("min_run_factor", &Policy::min_run_factor, 0, 1'000'000),
           Time("min_run_max", &Policy::min_run_max, {}, kDay),
           Time("default_save_cost", &Policy::default_save_cost, {}, kDay),
           Time("default_restore_cost", &Policy::default_restore_cost, {}, kDay),
           Time("median_checkpoint_interval", &Policy::median_checkpoint_interval, Milliseconds(1), kDay),
           Time("kill_after_term", &Policy::kill_after_term, {}, kDay),
           Time("release_max", &Policy::release_max, Milliseconds(100), kDay),
           Time("start_max", &Policy::start_max, Milliseconds(100), kDay),
           Count("start_failures_max", &Policy::start_failures_max, 1, 1000),
           Time("start_backoff", &Policy::start_backoff, {}, kDay)}};
}

// Empty, or a folder's absolute path with one spelling: jobs' checkpoint folders are named below it.
yaml::Field IntoFolder(std::string* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    const std::string text = value.IsScalar() ? value.scalar : "";
    const bool plain = text.empty() || (text[0] == '/' && text.size() > 1 && text.size() <= kFolderBytesMax &&
                                        std::filesystem::path(text).lexically_normal() == text && text.back() != '/');
    if (!value.IsScalar() || !plain) {
      return yaml::RefuseAt(value, path, "'" + Printable(text) + "' is no folder's absolute path",
                            "write it from / on, without '.', '..' or a '/' at its end: /shared/glim");
    }
    *out = text;
    return Status::Ok();
  };
}

// A text in quotes, so that an empty one is seen.
PolicyNumber Folder(const char* key, std::string Policy::*member) {
  return {key, [=](Policy* p) { return IntoFolder(&(p->*member)); },
          [=](const Policy& p) { return "\"" + p.*member + "\""; }};
}

PolicySection Saves() {
  return {"Saves",
          {Folder("checkpoint_root", &Policy::checkpoint_root),
           Count("copy_bytes_per_s", &Policy::copy_bytes_per_s, 1000, 1'000'000'000'000),
           Time("restore_backoff", &Policy::restore_backoff, {}, kDay),
           Time("restore_backoff_max", &Policy::restore_backoff_max, {}, kDay),
           {"checkpoint_retention", [](Policy* p) { return IntoSaveRetention(&p->checkpoint_retention); },
            [](const Policy& p) { return SaveRetentionYaml(p.checkpoint_retention); }}}};
}

PolicySection Logs() { return {"Logs", {Folder("logs_root", &Policy::logs_root)}}; }

PolicySection Nodes() {
  return {
      "Nodes",
      {Time("node_lost_after", &Policy::node_lost_after, Milliseconds(200), kDay),
       Time("oversleep_max", &Policy::oversleep_max, Milliseconds(100), kDay),
       Count("outage_percent", &Policy::outage_percent, 1, 100),
       Time("leaf_lost_after", &Policy::leaf_lost_after, Milliseconds(200), kDay * 30),
       Time("suspect_for", &Policy::suspect_for, {}, kDay * 30), Switch("fabric_private", &Policy::fabric_private)}};
}

PolicySection UsersOfTasks() {
  return {"Users of tasks",
          {{"task_users", [](Policy* p) { return IntoTaskUsers(&p->task_users); },
            [](const Policy& p) { return TaskUsersYaml(p.task_users); }}}};
}

PolicySection Reports() {
  return {
      "Reports",
      {{"price", [](Policy* p) { return IntoPrice(&p->price); }, [](const Policy& p) { return PriceYaml(p.price); }}}};
}

PolicySection Notifications() {
  return {"Notifications",
          {{"notify", [](Policy* p) { return IntoNotify(&p->notify); },
            [](const Policy& p) { return NotifyYaml(p.notify); }}}};
}

PolicySection Bounds() {
  return {"Bounds",
          {Count("unfinished_jobs_max", &Policy::unfinished_jobs_max, 1, kCountMax),
           Count("unfinished_jobs_per_user_max", &Policy::unfinished_jobs_per_user_max, 1, kCountMax),
           Size("unfinished_spec_bytes_max", &Policy::unfinished_spec_bytes_max, kSpecBytesMin, kSpecBytesMax),
           Size("unfinished_spec_bytes_per_user_max", &Policy::unfinished_spec_bytes_per_user_max, kSpecBytesMin,
                kSpecBytesMax),
           Count("finished_jobs_kept", &Policy::finished_jobs_kept, 0, kCountMax),
           Count("master_port_first", &Policy::master_port_first, 1024, 65'535),
           Count("master_port_last", &Policy::master_port_last, 1024, 65'535)}};
}

}  // namespace

std::vector<PolicySection> PolicySections() {
  return {Slicing(), CrossZone(),    Interrupts(), Saves(),         Logs(),
          Nodes(),   UsersOfTasks(), Reports(),    Notifications(), Bounds()};
}

PolicyFault FindPolicyFault(const Policy& p) {
  if (p.quantum_max < p.quantum_min) {
    return {"quantum_max", WriteDuration(p.quantum_max) + " is less than quantum_min, " + WriteDuration(p.quantum_min),
            "raise quantum_max or lower quantum_min"};
  }
  if (p.restore_backoff_max < p.restore_backoff) {
    return {"restore_backoff_max",
            WriteDuration(p.restore_backoff_max) + " is less than restore_backoff, " + WriteDuration(p.restore_backoff),
            "raise restore_backoff_max or lower restore_backoff"};
  }
  if (p.master_port_last < p.master_port_first) {
    return {
        "master_port_last",
        std::to_string(p.master_port_last) + " is less than master_port_first, " + std::to_string(p.master_port_first),
        "give the lower port first"};
  }
  if (p.master_port_last == p.master_port_first) {
    return {"master_port_last", "is also master_port_first", "give at least two ports: an attempt has a pair"};
  }
  return {};
}

}  // namespace glim::server
