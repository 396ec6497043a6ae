#include "tests/bench/reconnect_fill.h"

#include <chrono>
#include <optional>
#include <vector>

#include "scheduler/identity/cluster_authority.h"
#include "scheduler/identity/key_file.h"
#include "scheduler/store/open_store.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/write_file.h"
#include "sdk/pki/certificate_request.h"
#include "sdk/pki/private_key.h"

namespace glim::bench {
namespace {

constexpr std::size_t kRowsAtOnce = 500;

TimePoint WallNow() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count()};
}

Result<identity::ClusterAuthority> AuthorityOf(store::Store& store, const std::string& cluster,
                                               const std::string& key_file) {
  const auto key = identity::ReadClusterKey(key_file);
  if (!key.ok()) return key.status();
  const auto state = store.Load();
  if (!state.ok()) return state.status();
  const core::SealedRow* const row = (*state)->tables().identity->sealed.Find(identity::kAuthorityRow);
  if (row == nullptr) return Status(StatusCode::kFailedPrecondition, "no scheduler with identity has begun this store");
  return identity::ClusterAuthority::Open(cluster, *key, *row, std::nullopt, FillRandomly);
}

core::NodeIdentity RowOf(const std::string& name, const pki::Certificate& certificate) {
  core::NodeIdentity row;
  row.name = name;
  row.machine_id = "machine-of-" + name;
  row.enrolled_at = WallNow();
  row.serial = certificate.serial();
  row.certificate_expires_at = certificate.valid_until();
  return row;
}

}  // namespace

Status FillIdentities(const ReconnectFillOptions& options) {
  auto store = store::OpenStore(options.store);
  if (!store.ok()) return store.status();
  const auto cluster = (*store)->ClusterId("");
  if (!cluster.ok()) return cluster.status();
  const auto authority = AuthorityOf(**store, *cluster, options.key_file);
  if (!authority.ok()) return authority.status();
  const auto epoch = (*store)->AcquireEpoch(0);
  if (!epoch.ok()) return epoch.status();
  const pki::PrivateKey key = pki::PrivateKey::Make();
  const std::string request = pki::MakeRequest(key, "bench");
  std::string certificates;
  std::vector<core::Mutation> rows;
  for (std::uint32_t number = 1; number <= options.agents; ++number) {
    const std::string name = "node-" + std::to_string(number);
    const auto certificate = authority->SignNode(request, name, WallNow());
    if (!certificate.ok()) return certificate.status();
    certificates += certificate->Pem();
    core::IdentityChange change;
    change.row = RowOf(name, *certificate);
    rows.emplace_back(std::move(change));
    if (rows.size() < kRowsAtOnce && number < options.agents) continue;
    if (Status s = (*store)->Commit(*epoch, rows); !s.ok()) return s;
    rows.clear();
  }
  const auto write = [&](const char* name, const std::string& text) {
    return WriteFileAtomically(options.folder + "/" + name, text, Durability::kProcess);
  };
  if (Status s = write("key.pem", key.Pem()); !s.ok()) return s;
  if (Status s = write("certificates.pem", certificates); !s.ok()) return s;
  return write("authorities.pem", pki::PemOf(authority->Trust()));
}

}  // namespace glim::bench
