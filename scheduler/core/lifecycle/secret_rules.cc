#include "scheduler/core/lifecycle/secret_rules.h"

#include <algorithm>
#include <cstddef>

#include "scheduler/core/model/spec_limits.h"

namespace glim::core {

Status CheckSecretFits(const Identity& identity, const SecretRow& row) {
  std::size_t count = 1;
  std::size_t bytes = row.bytes;
  identity.secrets.VisitFrom({row.user, ""}, [&](const SecretKey& key, const SecretRow& other) {
    if (key.first != row.user) return false;
    if (key.second == row.name) return true;
    ++count;
    bytes += other.bytes;
    return true;
  });
  if (count <= kSecretsOfUserMax && bytes <= kSecretBytesOfUserMax) return Status::Ok();
  return Status(StatusCode::kResourceExhausted, "name: user " + row.user + " would have " + std::to_string(count) +
                                                    " secrets of " + std::to_string(bytes) + " bytes in all")
      .WithReason("TOO_MANY_SECRETS")
      .WithField("name")
      .WithFix("at most " + std::to_string(kSecretsOfUserMax) + " and " + std::to_string(kSecretBytesOfUserMax >> 20) +
               " MiB: remove some with glim secret rm NAME");
}

Status CheckSecretsAreSet(const Identity& identity, const std::string& user, const JobSpec& spec) {
  for (std::size_t i = 0; i < spec.secrets.size(); ++i) {
    const std::string& name = spec.secrets[i].name;
    if (identity.secrets.Find({user, name})) continue;
    const std::string field = "secrets[" + std::to_string(i) + "]";
    return Status(StatusCode::kNotFound, field + ": user " + user + " has no secret " + name)
        .WithReason("NO_SUCH_SECRET")
        .WithField(field)
        .WithFix("glim secret set " + name + " takes its value from standard input");
  }
  return Status::Ok();
}

Status CheckSecretsOfParent(const JobSpec* parent, const JobSpec& spec) {
  for (std::size_t i = 0; i < spec.secrets.size(); ++i) {
    const std::string& name = spec.secrets[i].name;
    const bool has = parent != nullptr && std::any_of(parent->secrets.begin(), parent->secrets.end(),
                                                      [&](const SecretUse& use) { return use.name == name; });
    if (has) continue;
    const std::string field = "secrets[" + std::to_string(i) + "]";
    return Status(StatusCode::kPermissionDenied,
                  field + ": a job's own token hands on no secret that the job has not itself: " + name)
        .WithReason("JOB_TOKEN")
        .WithField(field)
        .WithFix("name it in `secrets` of the job that submits, too, or submit as a user");
  }
  return Status::Ok();
}

}  // namespace glim::core
