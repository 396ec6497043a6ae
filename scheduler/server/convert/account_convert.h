// Users, teams and quotas as operators ask for them and are shown them.
#pragma once

#include "glim/v1/admin_api.pb.h"
#include "scheduler/core/model/accounts.h"
#include "sdk/base/result.h"

namespace glim::server {

// Words are looked at here; names and amounts by the core. A change puts the whole row: whoever changes one field of it
// reads the row first (ListAccounts) and sends all that it has.
Result<core::User> UserFromProto(const v1::AccountUser& user);
core::Team TeamFromProto(const v1::AccountTeam& team);
Result<core::QuotaRow> QuotaFromProto(const v1::AccountQuota& quota);
Result<core::AccountChange> AccountChangeFromProto(const v1::ChangeAccountRequest& request);
void AccountsToProto(const core::Accounts& accounts, v1::ListAccountsResponse* out);

// For a change that must make a new row: refused if there is one with its key.
Status CheckIsNew(const core::Accounts& accounts, const core::AccountRow& row);

}  // namespace glim::server
