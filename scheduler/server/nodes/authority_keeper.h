// AuthorityKeeper: the cluster's authority as the running scheduler has it, shared by who signs and who shows it.
//
// Owned by the Server; any thread. Whoever changes the authority writes its rows to the store first, then calls
// Replace; a change is made by one at a time (CaRotation).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "scheduler/identity/cluster_authority.h"
#include "scheduler/identity/key_file.h"

namespace glim::server {

class AuthorityKeeper {
 public:
  AuthorityKeeper(identity::ClusterKey key, identity::ClusterAuthority authority)
      : key_(std::move(key)), authority_(std::make_shared<const identity::ClusterAuthority>(std::move(authority))) {}

  // What seals rows of the store.
  const identity::ClusterKey& key() const { return key_; }
  // Never null; immutable. Its signing is for SignNode here alone, which takes turns.
  std::shared_ptr<const identity::ClusterAuthority> authority() const;
  // Errors as of ClusterAuthority::SignNode.
  Result<pki::Certificate> SignNode(std::string_view csr, const std::string& node, TimePoint now) const;
  Result<pki::Certificate> SignScheduler(const pki::PrivateKey& key, const pki::ServerNames& names,
                                         TimePoint now) const;
  // Whose certificates count, DER: as Welcome tells them.
  std::vector<std::string> Trust() const;
  void Replace(identity::ClusterAuthority authority);

 private:
  const identity::ClusterKey key_;
  mutable std::mutex mutex_;  // guards the pointer
  mutable std::mutex signing_;
  std::shared_ptr<const identity::ClusterAuthority> authority_;
};

}  // namespace glim::server
