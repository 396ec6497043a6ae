// The kinds of rows that outlive the scheduler, in one list: mutations, the table of a store and its loader follow.
// Accounts and identities have a type of change of their own: theirs are the alternatives of AccountRow, IdentityRow.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/budget.h"
#include "scheduler/core/model/identity.h"
#include "scheduler/core/model/learnt_rows.h"
#include "scheduler/core/model/reservation.h"
#include "scheduler/core/model/rows.h"

namespace glim::core {

// An owner stands before what it owns: rows are loaded in this order.
template <template <typename...> typename List>
using StoredRows = List<Node, Job, Attempt, Task, Share, LifeTable, Reservation, Budget>;

// What tells rows of one kind apart.
template <typename Row>
auto& IdOf(Row& row) {
  if constexpr (std::is_same_v<std::remove_const_t<Row>, Reservation>) {
    return row.name;
  } else {
    return row.id;
  }
}
template <typename Row>
using RowId = std::remove_cvref_t<decltype(IdOf(std::declval<Row&>()))>;

// A row that is deleted. Each row is named: a job's attempts and tasks do not go with it.
template <typename Row>
struct Deleted {
  RowId<Row> id;
};

}  // namespace glim::core
