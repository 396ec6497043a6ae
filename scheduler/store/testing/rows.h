// Random rows for tests, every field of them, with text that codecs get wrong.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/budget.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/identity.h"
#include "scheduler/core/model/reservation.h"
#include "scheduler/core/model/rows.h"
#include "sdk/base/rng.h"

namespace glim::store {

core::Job RandomJob(Rng& rng, core::JobId id);
core::Attempt RandomAttempt(Rng& rng, core::AttemptId id);
core::Task RandomTask(Rng& rng, core::TaskId id);
core::Node RandomNode(Rng& rng, core::NodeId id);  // names differ when ids do
core::Reservation RandomReservation(Rng& rng, const std::string& name);
core::Budget RandomBudget(Rng& rng, const core::BudgetId& id);
// Of any kind, one of a few names; one in three takes its row away.
core::AccountChange RandomAccountChange(Rng& rng);
// One of each kind, by that name.
std::vector<core::IdentityRow> RandomIdentity(Rng& rng, const std::string& name);
// Text without NUL: history is kept in plain columns.
core::HistoryEntry RandomHistory(Rng& rng, core::JobId job);

// Equal by value: rows share their specs by pointer.
bool SameJob(const core::Job& a, const core::Job& b);

}  // namespace glim::store
