#include "scheduler/server/nodes/authority_keeper.h"

#include <utility>

namespace glim::server {

std::shared_ptr<const identity::ClusterAuthority> AuthorityKeeper::authority() const {
  const std::lock_guard lock(mutex_);
  return authority_;
}

Result<pki::Certificate> AuthorityKeeper::SignNode(std::string_view csr, const std::string& node, TimePoint now) const {
  const auto held = authority();
  const std::lock_guard lock(signing_);
  return held->SignNode(csr, node, now);
}

Result<pki::Certificate> AuthorityKeeper::SignScheduler(const pki::PrivateKey& key, const pki::ServerNames& names,
                                                        TimePoint now) const {
  const auto held = authority();
  const std::lock_guard lock(signing_);
  return held->SignScheduler(key, names, now);
}

std::vector<std::string> AuthorityKeeper::Trust() const {
  std::vector<std::string> trust;
  for (const pki::Certificate& certificate : authority()->Trust()) trust.push_back(certificate.der());
  return trust;
}

void AuthorityKeeper::Replace(identity::ClusterAuthority authority) {
  auto next = std::make_shared<const identity::ClusterAuthority>(std::move(authority));
  const std::lock_guard lock(mutex_);
  authority_ = std::move(next);
}

}  // namespace glim::server
