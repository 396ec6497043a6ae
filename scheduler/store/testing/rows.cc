#include "scheduler/store/testing/rows.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "scheduler/core/model/enum_words.h"

namespace glim::store {

namespace {

// Every struct is taken apart by a structured binding: a field that joins a row breaks this file's build, and so
// reminds of row_fields.h.
class Filler {
 public:
  explicit Filler(Rng& rng) : rng_(rng) {}

  template <typename... Values>
  void All(Values&... values) {
    (Fill(values), ...);
  }

 private:
  void Fill(bool& value) { value = rng_.OneIn(2); }

  void Fill(std::string& value) {
    static const std::string kPieces[] = {"a",
                                          "Z",
                                          "0",
                                          " ",
                                          "/data/run-17",
                                          "\"",
                                          "\\",
                                          "\\\"",
                                          "\n",
                                          "\t",
                                          "\x01",
                                          "\x1f",
                                          "\x7f",
                                          std::string(1, '\0'),
                                          "{",
                                          "}",
                                          ",",
                                          "'",
                                          "NULL",
                                          "\xC3\xA9",
                                          "\xE6\xBC\xA2",
                                          "\xF0\x9F\x98\x80",
                                          "\xE2\x80\xA8",
                                          "\\u0000",
                                          "</script>"};
    value.clear();
    for (auto n = rng_.Between(0, 6); n > 0; --n) {
      value += kPieces[static_cast<std::size_t>(rng_.Between(0, std::size(kPieces) - 1))];
    }
  }

  // What a clock can say: the state that is loaded adds them up.
  void Fill(TimePoint& value) { FillTime(value.ms); }
  void Fill(Duration& value) { FillTime(value.ms); }
  void FillTime(std::int64_t& ms) {
    constexpr std::int64_t kEndOfYear9999 = 253'402'300'799'999;
    switch (rng_.Between(0, 3)) {
      case 0: ms = 0; break;
      case 1: ms = kEndOfYear9999; break;
      default: ms = rng_.Between(0, kEndOfYear9999); break;
    }
  }
  template <typename Tag, typename Rep>
  void Fill(StrongId<Tag, Rep>& value) {
    Fill(value.value);
  }
  void Fill(core::AttemptId& value) { All(value.job, value.number); }
  void Fill(core::TaskId& value) { All(value.attempt, value.index); }
  void Fill(std::pair<std::string, std::string>& value) { All(value.first, value.second); }
  void Fill(core::UseTotals& value) {
    for (auto& total : value) Fill(total);
  }
  template <typename T>
  void Fill(std::optional<T>& value) {
    value.reset();
    if (rng_.OneIn(2)) Fill(value.emplace());
  }
  template <typename T>
  void Fill(std::vector<T>& values) {
    values.resize(static_cast<std::size_t>(rng_.Between(0, 3)));
    for (T& value : values) Fill(value);
  }
  void Fill(std::shared_ptr<const core::JobSpec>& value) {
    auto spec = std::make_shared<core::JobSpec>();
    Fill(*spec);
    value = std::move(spec);
  }

  template <typename T>
  requires std::is_enum_v<T>
  void Fill(T& value) {
    constexpr auto kLast = static_cast<std::int64_t>(core::kEnumWords<T>.size()) - 1;
    value = core::kEnumWords<T>[static_cast<std::size_t>(rng_.Between(0, kLast))].value;
  }
  template <typename T>
  requires std::is_integral_v<T>
  void Fill(T& value) {
    switch (rng_.Between(0, 4)) {
      case 0: value = std::numeric_limits<T>::min(); break;
      case 1: value = std::numeric_limits<T>::max(); break;
      case 2: value = static_cast<T>(rng_.Between(0, 100)); break;
      default: value = static_cast<T>(rng_.Next()); break;
    }
  }

  void Fill(core::Placement& row) {
    auto& [zones, leaf, cross, gpu, nvlink, nic, node] = row;
    All(zones, leaf, cross, gpu, nvlink, nic, node);
  }
  void Fill(core::JobSpec& row) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, to, p, q, r, s, t, u, v, w, x, y, z, snapshot, team, secrets,
           api, notify, no_progress] = row;
    All(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, to, p, q, r, s, t, u, v, w, x, y, z, snapshot, team, secrets, api,
        notify, no_progress);
  }
  void Fill(core::NotifySpec& row) {
    auto& [on, to] = row;
    All(on, to);
  }
  void Fill(core::SecretUse& row) {
    auto& [name, env] = row;
    All(name, env);
  }
  void Fill(core::CodeSnapshot& row) {
    auto& [path, sha256, revision, bytes] = row;
    All(path, sha256, revision, bytes);
  }
  void Fill(core::Dependency& row) {
    auto& [job, when, keep] = row;
    All(job, when, keep);
  }
  void Fill(core::Mount& row) {
    auto& [source, target, read_only] = row;
    All(source, target, read_only);
  }
  void Fill(core::TaskLimits& row) {
    auto& [memory, cpu, pids, shm] = row;
    All(memory, cpu, pids, shm);
  }
  void Fill(core::Checkpoint& row) {
    auto& [step, path, bytes, attempt, at, local, parts, copies] = row;
    All(step, path, bytes, attempt, at, local, parts, copies);
  }
  void Fill(core::EarlierAttempts& row) {
    auto& [count, started_at, waited, ran, simulated] = row;
    All(count, started_at, waited, ran, simulated);
  }
  void Fill(core::Agreement& row) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, by_operator, elsewhere, grace] = row;
    All(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, by_operator, elsewhere, grace);
  }
  void Fill(core::Cordon& row) {
    auto& [by, reason, since, until, drain, deadline, drained] = row;
    All(by, reason, since, until, drain, deadline, drained);
  }
  void Fill(core::HealthEvent& row) {
    auto& [check, device, code, at, text, value, expected, unit, verdict, job, user, more] = row;
    All(check, device, code, at, text, value, expected, unit, verdict, job, user, more);
  }
  void Fill(core::NodeValidation& row) {
    auto& [need, since, job, good_at, bad, again_at, last, full, folders] = row;
    All(need, since, job, good_at, bad, again_at, last, full, folders);
  }
  void Fill(core::NodeFailure& row) {
    auto& [at, cause, device, job, user] = row;
    All(at, cause, device, job, user);
  }
  void Fill(core::HealthCondition& row) {
    auto& [check, device, text, value, expected, unit, since, verdict] = row;
    All(check, device, text, value, expected, unit, since, verdict);
  }
  void Fill(core::TaskUser& row) {
    auto& [uid, gid, groups] = row;
    All(uid, gid, groups);
  }
  void Fill(core::SavedShard& row) {
    auto& [step, path, bytes, shard, shards, took, local] = row;
    All(step, path, bytes, shard, shards, took, local);
  }
  void Fill(core::SaveFailure& row) {
    auto& [step, why, count] = row;
    All(step, why, count);
  }
  void Fill(core::EndedTasks& row) {
    auto& [count, exit_code, step, message] = row;
    All(count, exit_code, step, message);
  }
  void Fill(core::Rank& row) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, greeted, save_failure] = row;
    All(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, greeted, save_failure);
  }
  void Fill(core::NodeLabels& row) {
    auto& [pool, zone, leaf, type, count, nvlink, nic, simulated] = row;
    All(pool, zone, leaf, type, count, nvlink, nic, simulated);
  }

  Rng& rng_;
};

std::string WithoutNul(std::string text) {
  std::erase(text, '\0');
  return text;
}

}  // namespace

core::Job RandomJob(Rng& rng, core::JobId id) {
  core::Job row;
  auto& [own, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, service, waits_for, root,
         older, waits_for_save, in_memory, restore_failures, earlier, cooperative, restarts, yields, doublings,
         leave_time, leaves, storage_failures, hung_on, parent, priority_set, moved_off, hw_at, hw_failures,
         ended_unrun, longest_gap, validates, orphan_attempts] = row;
  Filler(rng).All(b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, service, waits_for, root,
                  older, waits_for_save, in_memory, restore_failures, earlier, cooperative, restarts, yields, doublings,
                  leave_time, leaves, storage_failures, hung_on, parent, priority_set, moved_off, hw_at, hw_failures,
                  ended_unrun, longest_gap, validates, orphan_attempts);
  own = id;
  return row;
}

core::Attempt RandomAttempt(Rng& rng, core::AttemptId id) {
  core::Attempt row;
  auto& [own, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, replicas, quantum, interval,
         last, failed_rank, progress_at, task_user, stop_now, stalled, asked, evidence, gpus_idle, save_failure,
         ended_tasks] = row;
  Filler(rng).All(b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, replicas, quantum,
                  interval, last, failed_rank, progress_at, task_user, stop_now, stalled, asked, evidence, gpus_idle,
                  save_failure, ended_tasks);
  own = id;
  return row;
}

core::Task RandomTask(Rng& rng, core::TaskId id) {
  core::Task row;
  auto& [own, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, hung_path, disk_fault, pids, out_of_memory, left_behind,
         left_names] = row;
  Filler(rng).All(b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, hung_path, disk_fault, pids, out_of_memory,
                  left_behind, left_names);
  own = id;
  return row;
}

core::Node RandomNode(Rng& rng, core::NodeId id) {
  core::Node row;
  auto& [own, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, unproven, root_error,
         site_fault, rate, relabelled, next, suspect, until, fault, why, stuck, only_uid, needs_uid, sockets, cordon,
         h_boot, h_seq, h_events, h_conditions, differs, accepted, validation, failures, lemon] = row;
  Filler(rng).All(b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, unproven, root_error,
                  site_fault, rate, relabelled, next, suspect, until, fault, why, stuck, only_uid, needs_uid, sockets,
                  cordon, h_boot, h_seq, h_events, h_conditions, differs, accepted, validation, failures, lemon);
  own = id;
  row.name += "#" + std::to_string(id.value);
  return row;
}

core::Reservation RandomReservation(Rng& rng, const std::string& name) {
  core::Reservation row;
  auto& [own, team, pool, share, names, begins, ends, reason, by, made, nodes, begun] = row;
  Filler(rng).All(team, pool, share, names, begins, ends, reason, by, made, begun);
  own = name;
  for (std::uint32_t id = 1; id <= 3; ++id) nodes.push_back({core::NodeId(id), TimePoint{rng.Between(1, 1'000'000)}});
  return row;
}

core::AccountChange RandomAccountChange(Rng& rng) {
  const std::string name = "n" + std::to_string(rng.Between(1, 4));
  core::AccountChange change;
  change.removed = rng.OneIn(3);
  switch (rng.Between(0, 7)) {
    case 0: change.row = core::User{name, {"vision", "b" + name}}; break;
    case 1: change.row = core::Team{name, static_cast<std::uint32_t>(rng.Between(1, 1000))}; break;
    case 2: change.row = core::QuotaImport{"quotas:\n  users: {\"" + name + "\": {high: 1}}\n"}; break;
    case 3: change.row = core::PoolRow{name, rng.OneIn(2) ? "the new rack" : ""}; break;
    case 4: change.row = core::ZoneRow{name, rng.OneIn(2) ? "\xC3\xBC" : ""}; break;
    case 5:
      change.row = core::ZoneLink{name, "n0", static_cast<std::uint32_t>(rng.Between(0, 9)),
                                  static_cast<std::uint32_t>(rng.Between(0, 9))};
      break;
    case 6: change.row = core::LayoutImport{"pools: [" + name + "]\n"}; break;
    default:
      change.row = core::QuotaRow{{static_cast<core::QuotaOf>(rng.Between(0, 4)), name, rng.OneIn(2) ? "*" : "a100"},
                                  rng.OneIn(2) ? core::PriorityClass::kHigh : core::PriorityClass::kLow,
                                  static_cast<std::uint32_t>(rng.Between(0, 9))};
  }
  return change;
}

std::vector<core::IdentityRow> RandomIdentity(Rng& rng, const std::string& name) {
  core::TokenRow token;
  {
    auto& [id, user, scope, origin, hash, created, expires, used, made_by, note, attempt, session_of] = token;
    Filler(rng).All(user, scope, origin, hash, created, expires, used, made_by, note, attempt, session_of);
    id = name;
  }
  core::NodeIdentity node;
  {
    auto& [own, login, labels, address, labelled, fields, machine, enrolled, hash, until, by, serial, previous, ends,
           revoked] = node;
    Filler(rng).All(login, labels, address, labelled, fields, machine, enrolled, hash, until, by, serial, previous,
                    ends, revoked);
    own = name;
  }
  core::SealedRow sealed{name, ""};
  core::SecretRow secret;
  {
    auto& [user, own, bytes, size, changed] = secret;
    Filler(rng).All(size, changed);
    user = "user of " + name;
    own = name;
  }
  for (int i = 0; i < 300; ++i) {
    sealed.bytes += static_cast<char>(i % 256);
    secret.sealed += static_cast<char>(rng.Between(0, 255));
  }
  return {token, node, sealed, secret};
}

core::HistoryEntry RandomHistory(Rng& rng, core::JobId job) {
  core::HistoryEntry row;
  auto& [at, kind, of, attempt, node, text, facts] = row;
  auto& [f_name, f_user, f_team, f_priority, f_nodes, f_nodes_free, f_gpus, f_simulated_gpus, f_pool, f_zone,
         f_node_names, f_node_names_left_out, f_jobs, f_jobs_left_out, f_step, f_outcome, f_stop, f_took, f_grace,
         f_signal, f_before_it_left, f_epoch, f_version, f_states, f_check, f_device, f_code, f_value, f_expected,
         f_unit, f_verdict] = facts;
  Filler(rng).All(at, kind, attempt, node, text);
  Filler(rng).All(f_name, f_user, f_team, f_priority, f_nodes, f_nodes_free, f_gpus, f_simulated_gpus, f_pool, f_zone,
                  f_node_names, f_node_names_left_out, f_jobs, f_jobs_left_out, f_step, f_outcome, f_stop, f_took,
                  f_grace, f_signal, f_before_it_left, f_epoch, f_version, f_states, f_check, f_device, f_code, f_value,
                  f_expected, f_unit, f_verdict);
  of = job;
  text = WithoutNul(text);
  // Of a reader's own: store.h.
  if (kind == core::HistoryKind::kStatesChanged) kind = core::HistoryKind::kSchedulerStarted;
  return row;
}

bool SameJob(const core::Job& a, const core::Job& b) {
  if (*a.spec != *b.spec) return false;
  core::Job shared = a;
  shared.spec = b.spec;
  return shared == b;
}

}  // namespace glim::store
