#include "scheduler/core/testing/golden_input.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/core/model/policy_accounts.h"
#include "scheduler/core/model/policy_keys.h"
#include "scheduler/core/testing/golden_line.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core::testing {
namespace {

constexpr std::uint64_t kFirstEndedJob = 1'000'000;  // far above those that files name
constexpr std::int64_t kEndedMax = 10'000;

class Reader {
 public:
  explicit Reader(GoldenInput& input) : policy_(input.policy), state_(input.state), now_(input.now) {}

  // What is wrong with the line; empty: nothing.
  std::string Read(std::string_view text, int number) {
    GoldenLine line(text, number);
    const std::string what = line.Word();
    if (what == "policy") {
      ReadPolicy(line);
    } else if (what == "quota") {
      ReadQuota(line);
    } else if (what == "team") {
      const std::string name = line.Word();
      policy_.team_weight[name] = static_cast<std::uint32_t>(line.NumberOr("weight", 100));
    } else if (what == "user") {
      ReadUser(line);
    } else if (what == "link") {
      ReadLink(line);
    } else if (what == "node") {
      ReadNodes(line);
    } else if (what == "reservation") {
      ReadReservation(line);
    } else if (what == "ended") {
      ReadEnded(line);
    } else if (what == "queued") {
      ReadQueued(line);
    } else if (what == "running" || what == "claimed" || what == "leaving" || what == "cancelled") {
      ReadLive(line, what);
    } else {
      line.Fail(
          "'" + what +
          "' begins no line; use policy, quota, team, user, link, node, reservation, ended, queued, running, claimed, "
          "leaving or cancelled");
    }
    return line.Fault();
  }

  const std::vector<AccountChange>& users() const { return users_; }

 private:
  // Each key by its name and in its unit: a file's 1.25 is 1250 here.
  void ReadPolicy(GoldenLine& line) {
    for (const PolicyKey& key : PolicyKeys()) {
      if (!IsAmount(key)) continue;
      const std::int64_t before = AmountOf(key, policy_);
      const bool is_time = key.unit == PolicyUnit::kTime;
      SetAmount(key, is_time ? line.SpanOr(key.name, {before}).ms : line.NumberOr(key.name, before), policy_);
    }
    LemonPolicy& lemons = policy_.health.lemons;
    lemons.large_nodes = static_cast<std::uint32_t>(line.NumberOr("lemons_large_nodes", lemons.large_nodes));
  }

  void ReadQuota(GoldenLine& line) {
    Quota* quota = &policy_.default_user_quota;
    if (const auto user = line.Text("user")) quota = &policy_.user_quota[*user];
    if (const auto team = line.Text("each_of_team")) quota = &policy_.team_user_quota[*team];
    if (const auto team = line.Text("team")) quota = &policy_.team_quota[*team];
    if (const auto pool = line.Text("pool")) quota = &policy_.pool_quota[*pool];
    for (const char* word :
         {"low", "below_normal", "under_normal", "normal", "above_normal", "high", "very_high", "extreme_high"}) {
      if (const auto nodes = line.Number(word)) {
        quota->nodes[ParsePriority(word).value()] = static_cast<std::uint32_t>(*nodes);
      }
    }
  }

  // A user of the registry: who has a uid has the same gid.
  void ReadUser(GoldenLine& line) {
    User user{line.Word()};
    if (const auto uid = line.Number("uid")) user.uid = user.gid = static_cast<std::uint32_t>(*uid);
    users_.push_back({std::move(user)});
  }

  void ReadLink(GoldenLine& line) {
    ZoneLink link{line.Word(), line.Word()};
    link.jobs_max = static_cast<std::uint32_t>(line.NumberOr("jobs", 1));
    link.pairs_max = static_cast<std::uint32_t>(line.NumberOr("pairs", 1));
    policy_.links.push_back(std::move(link));
  }

  // "n1" or "n1..n4".
  void ReadNodes(GoldenLine& line) {
    const std::string names = line.Word();
    NodeLabels labels = Labels(line.TextOr("zone", "A"), "");
    labels.leaf = line.TextOr("leaf", labels.zone + "1");
    labels.gpu_count = static_cast<std::uint32_t>(line.NumberOr("gpus", 8));
    labels.gpu_type = line.TextOr("gpu_type", labels.gpu_type);
    labels.pool = line.TextOr("pool", labels.pool);
    labels.nvlink = NvLinkOf(line, labels.nvlink);
    const auto suspect = static_cast<std::uint32_t>(line.NumberOr("suspect", 0));
    const std::int64_t copies = line.NumberOr("copies_bytes_per_s", 0);
    const bool lost = line.Flag("lost");
    const bool lemon = line.Flag("lemon");
    const bool needs_uid = line.Flag("needs_uid");
    const auto only_uid = line.Number("only_uid");
    const std::size_t dots = names.find("..");
    const std::string first = names.substr(0, dots);
    const std::string last = dots == std::string::npos ? first : names.substr(dots + 2);
    const std::int64_t from = first.starts_with('n') ? NumberOf(first.substr(1)).value_or(0) : 0;
    const std::int64_t to = last.starts_with('n') ? NumberOf(last.substr(1)).value_or(0) : 0;
    if (from < 1 || to < from || to - from > 1000) {
      return line.Fail("'" + names + "' names no nodes; use n1 or n1..n4");
    }
    for (auto id = static_cast<std::uint32_t>(from); id <= to; ++id) {
      if (state_.FindNode(NodeId(id))) return line.Fail("node n" + std::to_string(id) + " stands twice; keep one");
      Node node = NodeRow(id, labels);
      node.suspect = suspect;
      node.copy_bytes_per_s = copies;
      if (lost) node.state = NodeState::kLost;
      node.lemon = lemon;
      node.needs_uid = needs_uid;
      if (only_uid) node.only_uid = static_cast<std::uint32_t>(*only_uid);
      state_.Put(std::move(node));
    }
  }

  static NvLink NvLinkOf(GoldenLine& line, NvLink otherwise) {
    const auto word = line.Text("nvlink");
    if (!word) return otherwise;
    for (const NvLink value : {NvLink::kNone, NvLink::kPair, NvLink::kFull}) {
      if (*word == ToString(value)) return value;
    }
    line.Fail("nvlink: '" + *word + "' is none of none, pair, full");
    return otherwise;
  }

  // Of named nodes, or a share of a pool that has chosen none yet.
  void ReadReservation(GoldenLine& line) {
    Reservation row;
    row.name = line.Word();
    row.team = line.TextOr("team", "");
    row.node_names = line.List("on");
    row.share = static_cast<std::uint32_t>(line.NumberOr("share", 0));
    row.pool = row.share > 0 ? line.TextOr("pool", "default") : "";
    row.reason = "a deadline";
    row.made_by = "op";
    if (const auto begun = line.Span("begun")) row.begun_at = row.begins_at = now_ - *begun;
    if (const auto begins = line.Span("begins_in")) row.begins_at = now_ + *begins;
    row.ends_at = row.begins_at + line.SpanOr("lasts", Hours(1));
    for (const std::string& name : row.node_names) {
      if (const Node* node = NodeNamed(line, name)) row.nodes.push_back({node->id, now_ - Hours(1)});
    }
    state_.Put(std::move(row));
  }

  // Jobs that are over: what is known of how long jobs take.
  void ReadEnded(GoldenLine& line) {
    const std::int64_t jobs = line.NumberOr("jobs", 1);
    if (jobs > kEndedMax) return line.Fail("jobs: at most " + std::to_string(kEndedMax));
    JobSpec spec = Spec(static_cast<std::uint32_t>(line.NumberOr("nodes", 1)));
    const std::string user = line.TextOr("user", "ana");
    const Duration service = line.SpanOr("ran", Minutes(10));
    for (std::int64_t i = 0; i < jobs; ++i) {
      Job job = JobRow(next_ended_++, spec, user);
      job.state = JobState::kSucceeded;
      job.ended_at = now_ - Hours(1);
      job.service = service;
      for (LifeTable& table : state_.index().history.With(KindOf(job), service, job.ended_at)) {
        state_.Put(std::move(table));
      }
      state_.Put(std::move(job));
    }
  }

  // What queued and live jobs have in common.
  Job ReadJob(GoldenLine& line) {
    if (line.Word() != "job") line.Fail("the word 'job' and a number are missing");
    const auto id = NumberOf(line.Word());
    if (!id || *id < 1 || static_cast<std::uint64_t>(*id) >= kFirstEndedJob) {
      line.Fail("a job's number is missing; use 1 to " + std::to_string(kFirstEndedJob - 1));
      return JobRow(kFirstEndedJob - 1);
    }
    const auto job_id = static_cast<std::uint64_t>(*id);
    if (state_.FindJob(JobId(job_id))) line.Fail("job " + std::to_string(job_id) + " stands twice; keep one");
    Job job = JobRow(job_id, ReadSpec(line), line.TextOr("user", "ana"));
    job.team = line.TextOr("team", "");
    const Duration waited = line.SpanOr("waited", {});
    job.queued_at = now_ - waited;
    job.submitted_at = now_ - line.SpanOr("submitted", waited);
    job.service = line.SpanOr("served", {});
    job.save_cost = line.SpanOr("save_cost", {});
    job.restore_cost = line.SpanOr("restore_cost", {});
    job.swap_aborted = line.Flag("swap_aborted");
    job.saves_asked = static_cast<std::uint32_t>(line.NumberOr("saves_asked", 0));
    job.saves_done = static_cast<std::uint32_t>(line.NumberOr("saves_done", 0));
    ReadSave(line, job);
    return job;
  }

  JobSpec ReadSpec(GoldenLine& line) {
    const std::string word = line.TextOr("class", "normal");
    const Result<PriorityClass> priority = ParsePriority(word);
    if (!priority.ok()) line.Fail("class: " + priority.status().message() + "; " + priority.status().fix());
    JobSpec spec =
        Spec(static_cast<std::uint32_t>(line.NumberOr("nodes", 1)), priority.ok() ? *priority : PriorityClass::kNormal);
    spec.gpus_per_node = static_cast<std::uint32_t>(line.NumberOr("gpus", 8));
    spec.pool = line.TextOr("pool", spec.pool);
    spec.placement.zones = line.List("zones");
    spec.placement.gpu_type = line.TextOr("gpu_type", "");
    spec.placement.nvlink = NvLinkOf(line, NvLink::kNone);
    if (line.Flag("one_zone")) spec.placement.cross_zone = CrossZone::kNever;
    spec.time_limit = line.SpanOr("limit", {});
    return spec;
  }

  // Its newest save lies in one node's own folder.
  void ReadSave(GoldenLine& line, Job& job) {
    const auto name = line.Text("save_on");
    const std::int64_t gib = line.NumberOr("save_gib", 0);
    if (!name) return;
    const Node* node = NodeNamed(line, *name);
    if (!node) return;
    job.durable.step = 40;
    job.durable.path = "/own/40";
    job.durable.local = "40";
    job.durable.bytes = gib << 30;
    job.durable.parts = {node->id};
  }

  const Node* NodeNamed(GoldenLine& line, const std::string& name) {
    const auto it = state_.index().node_by_name.find(name);
    if (it != state_.index().node_by_name.end()) return state_.FindNode(it->second);
    line.Fail("there is no node '" + name + "' above this line");
    return nullptr;
  }

  void ReadQueued(GoldenLine& line) {
    Job job = ReadJob(line);
    state_.Put(std::move(job));
  }

  void ReadLive(GoldenLine& line, const std::string& what) {
    Job job = ReadJob(line);
    job.state = what == "running"     ? JobState::kRunning
                : what == "claimed"   ? JobState::kStarting
                : what == "cancelled" ? JobState::kCancelling
                                      : JobState::kInterrupting;
    job.attempts = 1;
    if (job.priority == PriorityClass::kAuto) line.Fail("class: a job that has nodes has a class; auto has become one");
    Attempt attempt = ReadAttempt(line, what, job);
    TakeNodes(line, attempt, job.spec->nodes, what == "claimed");
    if (what == "leaving") AddAgreement(line, attempt, job);
    state_.Put(std::move(job));
    state_.Put(std::move(attempt));
  }

  Attempt ReadAttempt(GoldenLine& line, const std::string& what, const Job& job) const {
    const Duration since = line.SpanOr("since", Hours(1));
    Attempt attempt;
    attempt.id = {job.id, 1};
    attempt.charged = job.priority;
    attempt.borrowed = line.Flag("borrowed");
    attempt.quantum = line.SpanOr("quantum", policy_.quantum_min);
    attempt.queued_at = attempt.claimed_at = now_ - since;
    if (what == "claimed") return attempt;
    attempt.state = AttemptState::kRunning;
    attempt.started_at = attempt.running_at = attempt.claimed_at;
    if (const auto saved = line.Span("saved")) attempt.durable_at = now_ - *saved;
    attempt.save_interval = line.SpanOr("saves_every", {});
    if (what != "cancelled") return attempt;
    attempt.state = AttemptState::kStopping;
    attempt.stop = StopCause::kCancel;
    attempt.stop_at = now_;
    return attempt;
  }

  // Nodes that somebody holds can only be claimed.
  void TakeNodes(GoldenLine& line, Attempt& attempt, std::uint32_t wanted, bool claims) {
    for (const std::string& name : line.List("on")) {
      const Node* row = NodeNamed(line, name);
      if (!row) return;
      Node node = *row;
      if (!node.holder) {
        node.holder = attempt.id;
        ++attempt.nodes_held;
      } else if (claims && !node.claim) {
        node.claim = attempt.id;
      } else {
        return line.Fail("on: somebody above this line has node " + name);
      }
      if (std::find(attempt.zones.begin(), attempt.zones.end(), node.labels.zone) == attempt.zones.end()) {
        attempt.zones.push_back(node.labels.zone);
      }
      attempt.nodes.push_back(node.id);
      state_.Put(std::move(node));
    }
    if (attempt.nodes.size() != wanted) line.Fail("on: name as many nodes as the job asks for");
  }

  void AddAgreement(GoldenLine& line, Attempt& attempt, const Job& job) const {
    Agreement agreement;
    agreement.id = 1;
    agreement.state = line.Flag("agreed") ? AgreementState::kAgreed : AgreementState::kNotifying;
    agreement.moved = line.Flag("moved");
    agreement.swap_aborted = job.swap_aborted;
    if (const auto preemptor = line.Number("for")) {
      agreement.preemptor = {JobId(static_cast<std::uint64_t>(*preemptor)), 1};
    }
    agreement.requested_at = now_;
    agreement.deadline = now_ + job.spec->grace;
    attempt.agreements.push_back(std::move(agreement));
  }

  Policy& policy_;
  ClusterState& state_;
  const TimePoint now_;
  std::uint64_t next_ended_ = kFirstEndedJob;
  std::vector<AccountChange> users_;
};

}  // namespace

GoldenInput ReadGoldenInput(std::string_view text) {
  GoldenInput input;
  Reader reader(input);
  for (int number = 1; !text.empty() && input.fault.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && !line.starts_with('#')) input.fault = reader.Read(line, number);
  }
  Accounts accounts;
  for (const AccountChange& change : AccountsOf(input.policy)) accounts.Change(change);
  for (const AccountChange& change : reader.users()) accounts.Change(change);
  input.state.SetAccounts(std::move(accounts));
  return input;
}

}  // namespace glim::core::testing
