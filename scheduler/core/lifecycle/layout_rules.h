// What must hold of pools, zones and links as rows, and who refers to one that is to go. Part of ApplyAccounts. Pure.
#pragma once

#include <string>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/cluster_state.h"
#include "sdk/base/status.h"

namespace glim::core {

// `accounts` are as the changes before this one leave them. A row that goes must be there (NO_SUCH_LAYOUT), and nobody
// may refer to it (IN_USE, with who does): nodes, quotas, teams and jobs that have not ended to a pool; nodes, links
// and such jobs to a zone.
Status CheckPool(const ClusterState& state, const Accounts& accounts, const PoolRow& row, bool removed);
Status CheckZone(const ClusterState& state, const Accounts& accounts, const ZoneRow& row, bool removed);
Status CheckLink(const Accounts& accounts, const ZoneLink& row, bool removed);

// "note 'the new rack'", "2 jobs, 1 pair".
std::string LayoutInWords(const PoolRow& row);
std::string LayoutInWords(const ZoneRow& row);
std::string LayoutInWords(const ZoneLink& row);

// Beside what the change itself says, what a first link, or no link any more, means for all other pairs of zones;
// empty: nothing.
std::string MeaningOfLinks(const Links& before, const Links& after);

}  // namespace glim::core
