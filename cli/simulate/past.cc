#include "cli/simulate/past.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

using glim::v1::PastJob;

constexpr std::int64_t kDayMs = Hours(24).ms;
constexpr char kRestoreGuess[] = "40s,60s";

// glim-sim takes words alone.
std::string Word(const std::string& name) {
  std::string word = name;
  for (char& c : word) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') c = '_';
  }
  return word;
}
std::string WordOr(const std::string& name, const char* otherwise) { return name.empty() ? otherwise : Word(name); }

// The most frequent number of GPUs of a pool's nodes.
std::map<std::string, std::uint32_t> GpusByPool(const std::vector<glim::v1::PastNode>& nodes) {
  std::map<std::string, std::map<std::uint32_t, std::size_t>> counts;
  for (const auto& node : nodes) ++counts[node.pool()][node.gpus()];
  std::map<std::string, std::uint32_t> gpus;
  for (const auto& [pool, by_gpus] : counts) {
    gpus[pool] = std::max_element(by_gpus.begin(), by_gpus.end(), [](const auto& a, const auto& b) {
                   return a.second < b.second;
                 })->first;
  }
  return gpus;
}

// How long it would have run alone, in milliseconds.
std::int64_t LengthOf(const PastJob& job, const std::map<std::string, std::uint32_t>& gpus_by_pool) {
  const auto pool = gpus_by_pool.find(job.pool());
  const std::int64_t gpus = pool == gpus_by_pool.end() ? 0 : std::int64_t{pool->second} * job.nodes();
  if (gpus == 0 || job.held_gpu_ms() == 0) return job.held_ms();
  const std::int64_t lost = job.state() == "succeeded" ? 0 : job.lost_gpu_ms();
  return (job.productive_gpu_ms() + lost) / gpus;
}

std::string Seconds(std::int64_t ms) { return fmt::format("{}.{:03}", ms / 1000, ms % 1000); }

// What coming back cost on the mean, of jobs on one node and on more.
void ReadRestores(const std::vector<PastJob>& jobs, const std::map<std::string, std::uint32_t>& gpus_by_pool,
                  Past* past) {
  std::array<std::int64_t, 2> ms{}, times{};
  for (const PastJob& job : jobs) {
    const auto pool = gpus_by_pool.find(job.pool());
    if (job.attempts() < 2 || pool == gpus_by_pool.end() || pool->second == 0) continue;
    const std::size_t wide = job.nodes() > 1 ? 1 : 0;
    ms[wide] += job.restoring_gpu_ms() / (std::int64_t{pool->second} * job.nodes());
    times[wide] += job.attempts() - 1;
  }
  past->restore_known = times[0] + times[1] > 0;
  if (!past->restore_known) {
    past->restore = kRestoreGuess;
    return;
  }
  const auto mean = [&](std::size_t wide) {
    const std::size_t from = times[wide] > 0 ? wide : 1 - wide;
    return std::clamp<std::int64_t>(ms[from] / times[from], 0, kDayMs);
  };
  past->restore = fmt::format("{}ms,{}ms", mean(0), mean(1));
}

std::string QuotasCsv(const glim::v1::ListAccountsResponse& accounts) {
  std::string csv = "of,subject,pool,class,nodes\n";
  for (const auto& team : accounts.teams())
    csv += fmt::format("team_weight,{},,,{}\n", Word(team.name()), team.weight());
  for (const auto& quota : accounts.quotas()) {
    const std::string pool = quota.pool() == "*" ? "" : Word(quota.pool());
    csv += fmt::format("{},{},{},{},{}\n", quota.of(), Word(quota.subject()), pool, quota.priority(), quota.nodes());
  }
  return csv;
}

}  // namespace

Past PastOf(const std::vector<PastJob>& jobs, const std::vector<glim::v1::PastNode>& nodes,
            const glim::v1::ListAccountsResponse& accounts, TimePoint since, TimePoint until) {
  Past past;
  past.nodes_csv = "name,pool,zone,leaf,gpus\n";
  for (const auto& node : nodes) {
    past.nodes_csv += fmt::format("{},{},{},{},{}\n", Word(node.name()), WordOr(node.pool(), "default"),
                                  WordOr(node.zone(), "-"), WordOr(node.leaf(), "-"), node.gpus());
  }
  past.quotas_csv = QuotasCsv(accounts);
  past.days = static_cast<std::uint32_t>(std::max<std::int64_t>(1, ((until - since).ms + kDayMs - 1) / kDayMs));
  const auto gpus_by_pool = GpusByPool(nodes);
  past.jobs_csv = "job_id,user,submit_s,duration_s,nodes,team,pool,class,gpus_per_node,counted\n";
  std::set<std::int64_t> days;
  for (const PastJob& job : jobs) {
    if (job.submitted_at_ms() >= until.ms) continue;
    past.failures += job.restarts();
    std::int64_t length = LengthOf(job, gpus_by_pool);
    if (length <= 0) {
      ++past.never_ran;
      continue;
    }
    const bool carried = job.submitted_at_ms() < since.ms;
    const bool ended = job.ended_at_ms() > 0;
    if (carried && job.started_at_ms() > 0 && job.started_at_ms() < since.ms) {
      const std::int64_t end = ended ? job.ended_at_ms() : until.ms;
      const std::int64_t whole = std::max<std::int64_t>(1, end - job.started_at_ms());
      length = static_cast<std::int64_t>(static_cast<double>(length) * static_cast<double>(end - since.ms) /
                                         static_cast<double>(whole));
    }
    past.carried_in += carried ? 1 : 0;
    past.unfinished += !carried && !ended ? 1 : 0;
    const bool counted = !carried && ended;
    const std::int64_t submit = std::max<std::int64_t>(0, job.submitted_at_ms() - since.ms);
    if (counted) {
      ++past.counted;
      days.insert(submit / kDayMs);
    }
    past.jobs_csv +=
        fmt::format("{},{},{},{},{},{},{},{},{},{}\n", job.id(), WordOr(job.user(), "nobody"), Seconds(submit),
                    Seconds(std::max<std::int64_t>(1, length)), job.nodes(), Word(job.team()),
                    WordOr(job.pool(), "default"), job.priority(), job.gpus_per_node(), counted ? 1 : 0);
  }
  past.days_used = static_cast<std::uint32_t>(days.size());
  ReadRestores(jobs, gpus_by_pool, &past);
  return past;
}

}  // namespace glim::cli
