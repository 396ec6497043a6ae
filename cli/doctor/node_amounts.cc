// The judges of node_checks.h that are about amounts and names.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "cli/doctor/node_checks.h"
#include "sdk/base/size_text.h"

namespace glim::cli::doctor {
namespace {

// "MemTotal:       16384 kB"
std::int64_t Kibibytes(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key + ":");
  if (at == std::string::npos) return 0;
  const std::size_t begin = text.find_first_of("0123456789", at);
  std::int64_t value = 0;
  if (begin != std::string::npos) std::from_chars(text.data() + begin, text.data() + text.size(), value);
  return value;
}

std::string Size(std::int64_t bytes) {
  return RoundedSizeText(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

}  // namespace

MemoryFacts ParseMemory(const std::string& meminfo) {
  return {Kibibytes(meminfo, "MemTotal") * 1024, Kibibytes(meminfo, "MemAvailable") * 1024, -1};
}

Outcome JudgeMemory(const MemoryFacts& facts) {
  if (facts.total == 0) return Skipped("the kernel does not tell");
  // As the agent does by itself (docs/operations/agent-configuration.md): 1 GiB or a twentieth, at most half.
  const std::int64_t by_default = std::min(facts.total / 2, std::max(std::int64_t{1} << 30, facts.total / 20));
  const std::int64_t reserve = facts.reserve < 0 ? by_default : facts.reserve;
  const std::string seen =
      fmt::format("{} of {} free; {} is the node's own", Size(facts.available), Size(facts.total), Size(reserve));
  if (reserve >= facts.total) return Fault(seen, "reserve less: reserve_memory in agent.yaml");
  if (facts.available < reserve) {
    return Warning(seen, "see what else runs here; name all of it with reserve_memory in agent.yaml");
  }
  return Good(seen);
}

Outcome JudgeAccounts(const std::vector<AccountFacts>& accounts) {
  if (accounts.empty()) return Good("no account is named: tasks run as the registry says");
  std::string seen;
  for (const AccountFacts& account : accounts) {
    if (!account.there) {
      return Fault(fmt::format("there is no account {}, which {} names", account.name, account.of),
                   account.of.ends_with(".service") ? "systemd-sysusers"
                                                    : fmt::format("make it (useradd --system {})", account.name));
    }
    seen += (seen.empty() ? "" : ", ") + account.name;
  }
  return Good(seen);
}

}  // namespace glim::cli::doctor
