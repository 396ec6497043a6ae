#include "scheduler/core/testing/store_mirror.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "scheduler/core/model/progress.h"

namespace glim::core::testing {
namespace {

// Each kind of rows is compared with its own.
bool SameRows(const Tables& a, const Tables& b) {
  bool same = true;
  EachTable(a, [&](const auto& table) {
    EachTable(b, [&](const auto& other) {
      if constexpr (std::is_same_v<decltype(table), decltype(other)>) {
        same = same && table.size() == other.size();
        table.ForEach([&](const auto& key, const auto& row) {
          const auto* const found = other.Find(key);
          same = same && found != nullptr && SameButProgress(*found, row);
        });
      }
    });
  });
  return same;
}

}  // namespace

struct StoreMirror::Apply {
  StoreMirror& store;
  template <typename Row>
  void operator()(const std::shared_ptr<const Row>& row) const {
    store.rows_.Put(*row);
  }
  template <typename Row>
  void operator()(const Deleted<Row>& gone) const {
    store.rows_.Erase(gone.id);
  }
  void operator()(const PutIds& ids) const { store.ids_ = ids; }
  void operator()(const AccountChange& change) const {
    Accounts accounts = store.rows_.accounts();
    accounts.Change(change);
    store.rows_.SetAccounts(std::move(accounts));
  }
  void operator()(const IdentityChange& change) const { store.rows_.ChangeIdentity({change}); }
  void operator()(const HistoryEntry& entry) const { store.history_.push_back(entry); }
};

void StoreMirror::Commit(const std::vector<Mutation>& mutations) {
  ++commits_;
  for (const Mutation& mutation : mutations) std::visit(Apply{*this}, mutation);
  rows_.ForgetReplaced();
}

std::string StoreMirror::Difference(const ClusterState& state) const {
  if (!SameRows(rows_.tables(), state.tables())) return "the committed rows are not the state's";
  if (rows_.accounts() != state.accounts()) return "the committed accounts are not the state's";
  if (rows_.identity().Rows() != state.identity().Rows()) return "the committed identities are not the state's";
  if (ids_.next_job != state.next_job_id) return "the committed job id is not the state's";
  if (ids_.next_node != state.next_node_id) return "the committed node id is not the state's";
  return "";
}

ClusterState StoreMirror::Load() const {
  ClusterState state;
  EachTable(rows_.tables(),
            [&](const auto& table) { table.ForEach([&](const auto&, const auto& row) { state.Put(row); }); });
  state.SetAccounts(rows_.accounts());
  std::vector<IdentityChange> identity;
  for (IdentityRow& row : rows_.identity().Rows()) identity.push_back({std::move(row)});
  state.ChangeIdentity(identity);
  state.next_job_id = ids_.next_job;
  state.next_node_id = ids_.next_node;
  return state;
}

std::int64_t StoreMirror::Noted(HistoryKind kind) const {
  return std::count_if(history_.begin(), history_.end(), [&](const HistoryEntry& e) { return e.kind == kind; });
}

}  // namespace glim::core::testing
