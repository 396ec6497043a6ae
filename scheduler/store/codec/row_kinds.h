// What every kind of row is called in the store's table, how long its body is about, and the text of its key.
//
// A new kind is a line here, one in core/model/stored_rows.h and a list of its fields. A name is never given to another
// kind, and a key never gets another form: older stores have them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "scheduler/core/model/stored_rows.h"

namespace glim::store {

template <typename Row>
struct RowKind;

#define GLIM_ROW_KIND(Row, NAME, BYTES_ABOUT)                                                    \
  template <>                                                                                    \
  struct RowKind<core::Row> {                                                                    \
    static constexpr std::string_view kName = NAME;                                              \
    static std::size_t BytesAbout([[maybe_unused]] const core::Row& row) { return BYTES_ABOUT; } \
  }
GLIM_ROW_KIND(Node, "node", 1024);
GLIM_ROW_KIND(Job, "job", 1600);
GLIM_ROW_KIND(Attempt, "attempt", 768 + 512 * row.agreements.size());
GLIM_ROW_KIND(Task, "task", 256 + 384 * row.ranks.size());
GLIM_ROW_KIND(Share, "share", 64);
GLIM_ROW_KIND(LifeTable, "life_table", 256);
GLIM_ROW_KIND(Reservation, "reservation", 384 + 40 * row.nodes.size());
GLIM_ROW_KIND(Budget, "budget", 192);
GLIM_ROW_KIND(User, "user", 128);
GLIM_ROW_KIND(Team, "team", 128);
GLIM_ROW_KIND(QuotaRow, "quota", 128);
GLIM_ROW_KIND(QuotaImport, "quota_import", row.text.size());
GLIM_ROW_KIND(PoolRow, "pool", 128);
GLIM_ROW_KIND(ZoneRow, "zone", 128);
GLIM_ROW_KIND(ZoneLink, "link", 128);
GLIM_ROW_KIND(LayoutImport, "layout_import", row.text.size());
GLIM_ROW_KIND(TokenRow, "token", 512);
GLIM_ROW_KIND(NodeIdentity, "machine", 512);
GLIM_ROW_KIND(SealedRow, "sealed", 64 + 2 * row.bytes.size());
GLIM_ROW_KIND(SecretRow, "secret", 128 + 2 * row.sealed.size());
#undef GLIM_ROW_KIND

std::string KeyText(core::JobId id);               // "42"
std::string KeyText(core::NodeId id);              // "7"
std::string KeyText(core::AttemptId id);           // "42.3"
std::string KeyText(const core::TaskId& id);       // "42.3.0"
std::string KeyText(const core::ShareId& id);      // "vision/kim": no team has a slash in its name
std::string KeyText(const core::LifeTableId& id);  // "3/4/90/kim": level, nodes, minutes, user
std::string KeyText(const core::BudgetId& id);     // its team
std::string KeyText(const std::string& name);

// The other way round; false: it is no such key.
bool ReadKey(std::string_view text, core::JobId& id);
bool ReadKey(std::string_view text, core::NodeId& id);
bool ReadKey(std::string_view text, core::AttemptId& id);
bool ReadKey(std::string_view text, core::TaskId& id);
bool ReadKey(std::string_view text, core::ShareId& id);
bool ReadKey(std::string_view text, core::LifeTableId& id);
bool ReadKey(std::string_view text, core::BudgetId& id);
bool ReadKey(std::string_view text, std::string& name);

// Rows whose bodies have their keys as well (docs/decisions/0005-rows-as-json.md): those of accounts and identities.
template <typename Row>
concept HasKeyInBody = requires(const Row& row) {
  core::AccountRow(row);
}
|| requires(const Row& row) { core::IdentityRow(row); };

// A row's key, as text that every database takes.
template <typename Row>
std::string KeyTextOf(const Row& row) {
  if constexpr (requires { core::AccountRow(row); }) {
    return KeyText(core::KeyOf(core::AccountRow(row)).name);
  } else if constexpr (requires { core::IdentityRow(row); }) {
    return KeyText(core::KeyOf(core::IdentityRow(row)).name);
  } else {
    return KeyText(core::IdOf(row));
  }
}

}  // namespace glim::store
