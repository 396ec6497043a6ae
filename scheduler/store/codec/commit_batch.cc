#include "scheduler/store/codec/commit_batch.h"

#include <algorithm>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "scheduler/core/model/planted.h"
#include "scheduler/store/codec/stored_row.h"
#include "sdk/base/check.h"

namespace glim::store {

namespace {

// Visits from the last mutation to the first, so that the first one seen of a row is the one that counts.
class Backward {
 public:
  explicit Backward(CommitBatch& batch) : batch_(batch) {}

  template <typename Row>
  void operator()(const std::shared_ptr<const Row>& row) {
    GLIM_CHECK(row != nullptr, "a mutation without its row");
    if constexpr (std::is_same_v<Row, core::Job>) {
      if (core::Planted(core::PlantedBug::kDroppedSubmission) && row->attempts == 0) return;
    }
    Put(*row);
  }
  template <typename Row>
  void operator()(const core::Deleted<Row>& gone) {
    Delete(RowKind<Row>::kName, KeyText(gone.id));
  }
  void operator()(const core::AccountChange& change) { Change(change); }
  void operator()(const core::IdentityChange& change) { Change(change); }
  void operator()(const core::HistoryEntry& entry) { batch_.history.push_back(&entry); }
  void operator()(const core::PutIds& ids) {
    if (!batch_.ids) batch_.ids = ids;
    batch_.ids->next_job = std::max(batch_.ids->next_job, ids.next_job);
    batch_.ids->next_node = std::max(batch_.ids->next_node, ids.next_node);
  }

 private:
  template <typename Row>
  void Put(const Row& row) {
    constexpr std::string_view kKind = RowKind<Row>::kName;
    std::string key = KeyTextOf(row);
    if (seen_.emplace(kKind, key).second) batch_.rows.push_back({kKind, std::move(key), EncodeRow(row)});
  }
  void Delete(std::string_view kind, std::string key) {
    if (seen_.emplace(kind, key).second) batch_.deleted.push_back({kind, std::move(key)});
  }
  template <typename AChange>
  void Change(const AChange& change) {
    std::visit(
        [&]<typename Row>(const Row& row) {
          if (change.removed) {
            Delete(RowKind<Row>::kName, KeyTextOf(row));
          } else {
            Put(row);
          }
        },
        change.row);
  }

  CommitBatch& batch_;
  std::set<std::pair<std::string_view, std::string>> seen_;
};

}  // namespace

CommitBatch Coalesce(const std::vector<core::Mutation>& mutations) {
  CommitBatch batch;
  Backward visit(batch);
  for (auto it = mutations.rbegin(); it != mutations.rend(); ++it) std::visit(visit, *it);
  // In the order of the mutations: new rows lie beside each other in a database, as their keys do.
  std::reverse(batch.rows.begin(), batch.rows.end());
  std::reverse(batch.history.begin(), batch.history.end());
  return batch;
}

Status StaleEpoch(std::uint64_t given, std::uint64_t newest) {
  return Status(StatusCode::kAborted,
                fmt::format("epoch {} is not the newest, which is {}: another scheduler leads", given, newest))
      .WithReason("STALE_EPOCH");
}

}  // namespace glim::store
