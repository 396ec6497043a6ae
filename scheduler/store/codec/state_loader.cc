#include "scheduler/store/codec/state_loader.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "scheduler/core/model/planted.h"
#include "scheduler/store/codec/stored_row.h"

namespace glim::store {

namespace {

// What a row belongs to, in words; empty: it is there, or the row belongs to nothing.
template <typename Row>
std::string MissingOwner(const core::ClusterState& state, const Row& row) {
  if constexpr (std::is_same_v<Row, core::Attempt>) {
    if (state.FindJob(row.id.job) == nullptr) return "no such job";
  } else if constexpr (std::is_same_v<Row, core::Task>) {
    if (state.FindAttempt(row.id.attempt) == nullptr) return "no such attempt";
  }
  return "";
}

template <typename... Lists>
struct Joined;
template <typename... A, typename... B, typename... C>
struct Joined<std::tuple<A...>, std::variant<B...>, std::variant<C...>> {
  using type = std::tuple<A..., B..., C...>;
};
using AllKinds = Joined<core::StoredRows<std::tuple>, core::AccountRow, core::IdentityRow>::type;

}  // namespace

template <typename Row>
void StateLoader::Take(Row row) {
  if constexpr (requires { core::AccountRow(row); }) {
    accounts_.Change({std::move(row)});
  } else if constexpr (requires { core::IdentityRow(row); }) {
    identity_.push_back({std::move(row)});
  } else {
    if constexpr (std::is_same_v<Row, core::Job>) last_job_ = std::max(last_job_, row.id);
    state_->Put(std::move(row));
  }
}

template <typename Row>
Status StateLoader::AddRow(std::string_view key, std::string_view body) {
  auto row = DecodeRow<Row>(key, body);
  if (!row.ok()) return row.status();
  if (const std::string missing = MissingOwner(*state_, *row); !missing.empty()) {
    return BrokenRow(fmt::format("{} {}", RowKind<Row>::kName, key), missing);
  }
  Take(std::move(row).value());
  return Status::Ok();
}

struct StateLoader::Adders {
  using Adder = Status (StateLoader::*)(std::string_view key, std::string_view body);
  template <typename... Rows>
  struct Of {
    static constexpr std::array<std::string_view, sizeof...(Rows)> kNames = {RowKind<Rows>::kName...};
    static constexpr std::array<Adder, sizeof...(Rows)> kAdders = {&StateLoader::AddRow<Rows>...};
  };
  template <typename List>
  struct OfList;
  template <typename... Rows>
  struct OfList<std::tuple<Rows...>> : Of<Rows...> {};
  using All = OfList<AllKinds>;
};

std::span<const std::string_view> StateLoader::Kinds() { return Adders::All::kNames; }

Status StateLoader::CheckKind(std::string_view kind) {
  if (std::ranges::find(Kinds(), kind) != Kinds().end()) return Status::Ok();
  return Status(
             StatusCode::kFailedPrecondition,
             fmt::format("the database has rows of kind {}, which this scheduler does not know: a newer one wrote it",
                         kind.substr(0, 64)))
      .WithReason("STORE_TOO_NEW")
      .WithFix("run the newer scheduler, or restore the database from a backup that this one wrote");
}

Status StateLoader::Add(std::string_view kind, std::string_view key, std::string_view body) {
  const auto at = std::ranges::find(Adders::All::kNames, kind) - Adders::All::kNames.begin();
  if (static_cast<std::size_t>(at) == Adders::All::kNames.size()) return CheckKind(kind);
  return (this->*Adders::All::kAdders[static_cast<std::size_t>(at)])(key, body);
}

std::unique_ptr<core::ClusterState> StateLoader::Finish(core::PutIds stored) && {
  state_->SetAccounts(std::move(accounts_));
  state_->ChangeIdentity(identity_);
  state_->ForgetReplaced();
  // Put has taken care that no row's id is given out again.
  const bool twice = core::Planted(core::PlantedBug::kJobNumberTwice) && last_job_.value > 0;
  state_->next_job_id = twice ? last_job_ : std::max(stored.next_job, state_->next_job_id);
  state_->next_node_id = std::max(stored.next_node, state_->next_node_id);
  return std::move(state_);
}

}  // namespace glim::store
