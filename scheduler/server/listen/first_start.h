// What the scheduler needs once, at its first start with identity: the key file, the cluster's authority, an
// administrator, and a token for them where `glim` on this host finds it. Later starts find all of it.
//
// The authority's row is the last that is written: a start that was cut short is made again whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/nodes/authority_keeper.h"
#include "sdk/base/result.h"

namespace glim::server {

inline constexpr Duration kBreakGlassLife = Hours(24);

struct IdentityPlaces {
  std::string state_dir;  // operator/token and operator/ca.pem, both for its owner alone
  std::string key_file;
  std::string user;       // who becomes the administrator
  std::uint32_t uid = 0;  // of that user on this machine: jobs of theirs are it; root's: they have none
};

// The loop has been started; blocks until it has answered. FAILED_PRECONDITION: KEY_FILE_LOST (what is sealed in the
// store cannot be opened: there is no key file), OTHER_KEY_FILE, and errors of files.
Result<std::unique_ptr<AuthorityKeeper>> OpenAuthority(const IdentityPlaces& places, SchedulerLoop* loop,
                                                       const std::string& cluster_id);

// The same refusals, by the rows alone; nothing is made.
Status CheckKeyFile(const std::string& key_file, const core::Identity& rows, const std::string& cluster_id);

// What clients are to trust, for `glim` on this host. At each start, and when the authority is changed.
Status WriteOperatorCa(const std::string& state_dir, const AuthorityKeeper& keeper);

// A new token of an administrator, audited: `user`, or, if empty, the first enabled one, or else `otherwise`, whose
// account is made (or made an administrator's). Blocks until the loop has answered. `peer`: for the audit trail.
Result<std::string> MakeBreakGlassToken(SchedulerLoop* loop, const std::string& user, const std::string& otherwise,
                                        const std::string& peer);

// Nothing in the store can be opened any more: keys, nodes' certificates and open invitations, and users' secrets go,
// users' tokens stay. The next start is a first one.
Status ForgetKeys(SchedulerLoop* loop, const std::string& peer);

// The name of the user whom this process runs as: theirs is the token's file, and `glim` calls itself so.
std::string OwnUserName();

}  // namespace glim::server
