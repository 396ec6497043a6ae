// What happened in a seed's world, counted. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glim::sim {

struct WorldReport {
  std::uint64_t seed = 0;
  std::uint64_t events = 0;
  std::uint64_t batches = 0;
  std::uint64_t jobs = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t interrupts = 0;
  std::uint64_t saved = 0;
  std::uint64_t left_unsaved = 0;
  std::uint64_t killed = 0;
  std::uint64_t withdrawn = 0;
  std::uint64_t swap_aborted = 0;
  std::uint64_t timeouts = 0;    // jobs that reached their time limits
  std::uint64_t dependants = 0;  // jobs that waited for others, and were started
  std::uint64_t node_failures = 0;
  std::uint64_t nodes_lost = 0;
  std::uint64_t copies = 0;            // pieces of saves that went from node to node
  std::uint64_t parts_copied = 0;      // of these, of saves that several nodes wrote
  std::uint64_t saves_waited_for = 0;  // jobs that waited for the node that has their save
  std::uint64_t saves_given_up = 0;    // jobs whose newest save was lost with its node
  std::uint64_t cut_off = 0;           // machines whose cable was pulled
  std::uint64_t lost_by_probes = 0;    // nodes, as others said that they cannot be reached
  std::uint64_t outages = 0;
  std::uint64_t store_outages = 0;    // for a moment, or longer
  std::uint64_t flaps = 0;            // restarts of agents that come and go
  std::uint64_t false_claims = 0;     // agents that said that they run what they do not
  std::uint64_t stores_put_back = 0;  // from a backup
  std::uint64_t orphans = 0;          // tasks that the store did not know afterwards
  std::uint64_t promises_kept = 0;    // to jobs that had starved
  std::uint64_t plans = 0;            // jobs of which it was said before their submission what would become of them
  std::uint64_t scheduler_restarts = 0;
  std::uint64_t agent_restarts = 0;
  std::uint64_t supervisors_lost = 0;  // of tasks whose ranks trained on
  std::uint64_t relabelled = 0;        // agents that came back with other labels, or fewer GPUs
  std::uint64_t reinstalled = 0;       // nodes that an operator removed, and that registered anew
  std::uint64_t rivals = 0;            // leaders that woke beside their successor
  std::uint64_t messages_lost = 0;
  std::uint64_t clock_steps = 0;
  // Pools.
  std::uint64_t other_pools = 0;     // attempts of jobs of another pool than the first
  std::uint64_t pools_borrowed = 0;  // of these, beyond a quota
  std::uint64_t pools_crossed = 0;   // of these, over a link that the first pool has too
  // Starts and nodes.
  std::uint64_t slow_starts = 0;
  std::uint64_t hung_starts = 0;
  std::uint64_t start_timeouts = 0;  // attempts that were given up as they were never seen running
  std::uint64_t start_failures = 0;  // attempts that could not start, by whoever's fault
  std::uint64_t own_faults = 0;      // starts that no node would have done better
  std::uint64_t missing_paths = 0;
  std::uint64_t hung_paths = 0;  // starts at a file system that did not answer
  std::uint64_t kept_tasks = 0;  // tasks that did not go when they were killed, each time
  std::uint64_t full_disk_starts = 0;
  std::uint64_t full_disk_saves = 0;
  std::uint64_t refused_hellos = 0;  // of agents that speak another protocol
  std::uint64_t upgrades = 0;        // of such agents
  // Ranks.
  std::uint64_t stalls = 0;         // attempts that stood still, and were noticed
  std::uint64_t idle_warnings = 0;  // that nobody uses a job's GPUs
  std::uint64_t hangs = 0;          // of those, that were ended for it
  std::uint64_t yields = 0;         // attempts that left by themselves
  std::uint64_t damaged_saves = 0;  // that ranks did not go on from
  // Terms.
  std::uint64_t long_graces = 0;  // interrupts with a grace of at least 0.9 of its class's cap
  std::uint64_t clamped = 0;      // interrupts with less than the job's grace, for the cap is lower now
  std::uint64_t extended = 0;     // graces that were made longer
  std::uint64_t above_cap = 0;    // submissions that were refused for a grace above the cap
  std::uint64_t reloads = 0;      // of the policy
  std::uint64_t link_changes = 0;
  // Users of tasks.
  std::uint64_t launches_as_users = 0;  // of tasks whose user has a uid
  std::uint64_t launches_on_own = 0;    // on machines that run one user's jobs alone
  std::uint64_t waits_for_uid = 0;      // jobs that waited for what an operator says of their user, at a time
  // Operators.
  std::uint64_t cordoned = 0;        // nodes taken out, drained or not
  std::uint64_t drained = 0;         // drains that came to their end
  std::uint64_t moved = 0;           // jobs that operators moved
  std::uint64_t given_priority = 0;  // jobs that operators gave another class
  std::uint64_t reserved = 0;        // reservations that came into force
  std::uint64_t left_reserved = 0;   // jobs that were asked to leave for one
  // Hardware.
  std::uint64_t health_events = 0;      // that were noted
  std::uint64_t health_conditions = 0;  // likewise, of those that began
  std::uint64_t health_out = 0;         // nodes that were taken out, or drained, for what was found there
  std::uint64_t gpu_failures = 0;       // attempts that ended so
  std::uint64_t network_failures = 0;
  std::uint64_t found_good = 0;  // nodes that were measured
  std::uint64_t found_bad = 0;
  // Crowds.
  std::uint64_t starved_most = 0;  // jobs that had starved, at a time
  std::uint64_t kinds_most = 0;    // shapes that waited, at a time
  std::int64_t virtual_ms = 0;
  std::uint64_t digest = 0;  // of every mutation, in order: the same seed gives the same digest
  std::vector<std::string> violations;
};

struct Counter {
  const char* name;
  std::uint64_t WorldReport::*of;
};

// Everything that is counted, by name.
inline constexpr Counter kCounters[] = {
    {"events", &WorldReport::events},
    {"batches", &WorldReport::batches},
    {"jobs", &WorldReport::jobs},
    {"succeeded", &WorldReport::succeeded},
    {"failed", &WorldReport::failed},
    {"cancelled", &WorldReport::cancelled},
    {"interrupts", &WorldReport::interrupts},
    {"saved", &WorldReport::saved},
    {"left_unsaved", &WorldReport::left_unsaved},
    {"killed", &WorldReport::killed},
    {"withdrawn", &WorldReport::withdrawn},
    {"timeouts", &WorldReport::timeouts},
    {"dependants", &WorldReport::dependants},
    {"swap_aborted", &WorldReport::swap_aborted},
    {"node_failures", &WorldReport::node_failures},
    {"nodes_lost", &WorldReport::nodes_lost},
    {"copies", &WorldReport::copies},
    {"parts_copied", &WorldReport::parts_copied},
    {"saves_waited_for", &WorldReport::saves_waited_for},
    {"saves_given_up", &WorldReport::saves_given_up},
    {"cut_off", &WorldReport::cut_off},
    {"lost_by_probes", &WorldReport::lost_by_probes},
    {"outages", &WorldReport::outages},
    {"store_outages", &WorldReport::store_outages},
    {"flaps", &WorldReport::flaps},
    {"false_claims", &WorldReport::false_claims},
    {"stores_put_back", &WorldReport::stores_put_back},
    {"orphans", &WorldReport::orphans},
    {"plans", &WorldReport::plans},
    {"promises_kept", &WorldReport::promises_kept},
    {"stalls", &WorldReport::stalls},
    {"idle_warnings", &WorldReport::idle_warnings},
    {"hung_paths", &WorldReport::hung_paths},
    {"hangs", &WorldReport::hangs},
    {"yields", &WorldReport::yields},
    {"damaged_saves", &WorldReport::damaged_saves},
    {"scheduler_restarts", &WorldReport::scheduler_restarts},
    {"agent_restarts", &WorldReport::agent_restarts},
    {"supervisors_lost", &WorldReport::supervisors_lost},
    {"relabelled", &WorldReport::relabelled},
    {"reinstalled", &WorldReport::reinstalled},
    {"rivals", &WorldReport::rivals},
    {"messages_lost", &WorldReport::messages_lost},
    {"clock_steps", &WorldReport::clock_steps},
    {"other_pools", &WorldReport::other_pools},
    {"pools_borrowed", &WorldReport::pools_borrowed},
    {"pools_crossed", &WorldReport::pools_crossed},
    {"slow_starts", &WorldReport::slow_starts},
    {"hung_starts", &WorldReport::hung_starts},
    {"start_timeouts", &WorldReport::start_timeouts},
    {"start_failures", &WorldReport::start_failures},
    {"own_faults", &WorldReport::own_faults},
    {"missing_paths", &WorldReport::missing_paths},
    {"kept_tasks", &WorldReport::kept_tasks},
    {"full_disk_starts", &WorldReport::full_disk_starts},
    {"full_disk_saves", &WorldReport::full_disk_saves},
    {"refused_hellos", &WorldReport::refused_hellos},
    {"upgrades", &WorldReport::upgrades},
    {"long_graces", &WorldReport::long_graces},
    {"clamped", &WorldReport::clamped},
    {"extended", &WorldReport::extended},
    {"above_cap", &WorldReport::above_cap},
    {"reloads", &WorldReport::reloads},
    {"link_changes", &WorldReport::link_changes},
    {"launches_as_users", &WorldReport::launches_as_users},
    {"launches_on_own", &WorldReport::launches_on_own},
    {"waits_for_uid", &WorldReport::waits_for_uid},
    {"cordoned", &WorldReport::cordoned},
    {"drained", &WorldReport::drained},
    {"moved", &WorldReport::moved},
    {"given_priority", &WorldReport::given_priority},
    {"reserved", &WorldReport::reserved},
    {"left_reserved", &WorldReport::left_reserved},
    {"health_events", &WorldReport::health_events},
    {"health_conditions", &WorldReport::health_conditions},
    {"health_out", &WorldReport::health_out},
    {"found_good", &WorldReport::found_good},
    {"found_bad", &WorldReport::found_bad},
    {"gpu_failures", &WorldReport::gpu_failures},
    {"network_failures", &WorldReport::network_failures},
    {"starved_most", &WorldReport::starved_most},
    {"kinds_most", &WorldReport::kinds_most},
};

}  // namespace glim::sim
