#include "scheduler/server/loop/policy_keeper.h"

#include <memory>
#include <utility>

#include "scheduler/policy/layout_import.h"
#include "sdk/base/check.h"
#include "sdk/log/log.h"

namespace glim::server {

KnownNames NamesOf(const core::Tables& tables) {
  KnownNames known;
  tables.nodes.ForEach([&](core::NodeId, const core::Node& node) {
    known.any_node = true;
    known.pools.insert(node.labels.pool);
    known.zones.insert(node.labels.zone);
  });
  const core::Accounts& rows = *tables.accounts;
  for (const auto& [name, pool] : rows.pools) known.pools.insert(name);
  for (const auto& [name, zone] : rows.zones) known.zones.insert(name);
  for (const auto& [group, numbers] : rows.quotas) {
    if (group.pool != core::kAllPools) known.pools.insert(group.pool);
  }
  for (const auto& [name, team] : rows.teams) known.pools.insert(team.pools.begin(), team.pools.end());
  for (const auto& [ends, link] : rows.links) known.zones.insert({ends.first, ends.second});
  return known;
}

void PolicyKeeper::WarnAtStart() const {
  std::vector<std::string> warnings;
  std::lock_guard lock(mutex_);
  // A scheduler that did not come up again because one of two zones has not registered yet would be worse than a typo.
  KnownNames known = NamesOf(loop_->snapshot()->tables);
  known.any_node = false;
  const Status status = CheckNames(in_force_.names, known, &warnings);
  GLIM_CHECK(status.ok(), "names are refused at a reload alone");
  for (const std::string& warning : warnings) LogWarning("policy source={} warning=\"{}\"", origin_.path, warning);
}

std::string PolicyKeeper::Yaml(bool with_urls) const {
  std::lock_guard lock(mutex_);
  return with_urls ? PolicyYaml(in_force_) : PolicyYamlForAll(in_force_);
}

void PolicyKeeper::End() {
  std::lock_guard lock(mutex_);
  reloading_ = false;
}

bool PolicyKeeper::Prepare(bool dry_run, const Done& done, PolicyFile* file,
                           std::optional<core::ChangeAccounts>* accounts, Reloaded* out) {
  auto read = origin_.read();
  Status status = read.status();
  if (read.ok()) {
    status = CheckNames(read->names, NamesOf(loop_->snapshot()->tables), &out->warnings);
    if (status.ok()) {
      auto import = PlanPolicyImport(*loop_->snapshot()->tables.accounts, *read);
      status = import.status();
      if (import.ok()) *accounts = std::move(import->event);
      if (import.ok()) out->warnings.insert(out->warnings.end(), import->warnings.begin(), import->warnings.end());
      if (import.ok()) out->warnings.insert(out->warnings.end(), import->words.begin(), import->words.end());
    }
    if (!status.ok()) status = yaml::InSource(origin_.path, status);
  }
  if (!status.ok()) {
    LogWarning("policy not reloaded source={} field={} error=\"{}\"", origin_.path, status.field(), status.message());
    done(status);
    return false;
  }
  {
    std::lock_guard lock(mutex_);
    out->changes = DiffPolicies(in_force_, *read);
  }
  *file = std::move(read).value();
  if (!dry_run && !out->changes.empty()) return true;
  done(*out);
  return false;
}

void PolicyKeeper::Reload(bool dry_run, std::optional<AuditNote> note, Done done) {
  bool busy = false;
  {
    std::lock_guard lock(mutex_);
    busy = std::exchange(reloading_, true);
  }
  if (busy) {
    return done(Status(StatusCode::kAborted, "another reload of the policy is under way")
                    .WithReason("RELOADING")
                    .WithFix("try again in a moment"));
  }
  const auto file = std::make_shared<PolicyFile>();
  Reloaded out;
  std::optional<core::ChangeAccounts> accounts;
  if (!Prepare(dry_run, done, file.get(), &accounts, &out)) return End();
  const std::string words = ChangesInWords(out.changes);
  out.applied = true;
  if (note) note->after = words;
  const auto reloaded = [=, this](const core::Reply& reply) {
    if (reply.status.ok()) {
      std::lock_guard lock(mutex_);
      in_force_ = std::move(*file);
    }
    End();
    if (reply.status.ok()) LogInfo("policy reloaded source={} changes=\"{}\"", origin_.path, words);
    done(reply.status.ok() ? Result<Reloaded>(out) : Result<Reloaded>(reply.status));
  };
  const Status posted = loop_->SetPolicy(file->policy, words, std::move(accounts), reloaded, std::move(note));
  if (posted.ok()) return;
  End();
  done(posted);
}

}  // namespace glim::server
