#include "scheduler/store/codec/state_loader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/core/model/planted.h"
#include "scheduler/store/codec/row_codec.h"

namespace glim::store {

namespace {

Status Orphan(const std::string& what) {
  return Status(StatusCode::kDataLoss, what).WithReason("STORE_CORRUPT").WithFix("restore the database from a backup");
}

}  // namespace

Status StateLoader::AddNode(core::NodeId id, std::string_view body) {
  auto row = DecodeNode(id, body);
  if (!row.ok()) return row.status();
  last_node_ = std::max(last_node_, id);
  state_->Put(std::move(row).value());
  return Status::Ok();
}

Status StateLoader::AddJob(core::JobId id, std::string_view body) {
  auto row = DecodeJob(id, body);
  if (!row.ok()) return row.status();
  last_job_ = std::max(last_job_, id);
  state_->Put(std::move(row).value());
  return Status::Ok();
}

Status StateLoader::AddAttempt(core::AttemptId id, std::string_view body) {
  if (state_->FindJob(id.job) == nullptr) return Orphan("table attempts, row " + core::ToString(id) + ": no such job");
  auto row = DecodeAttempt(id, body);
  if (!row.ok()) return row.status();
  state_->Put(std::move(row).value());
  return Status::Ok();
}

Status StateLoader::AddTask(core::TaskId id, std::string_view body) {
  if (state_->FindAttempt(id.attempt) == nullptr) {
    return Orphan("table tasks, row " + core::ToString(id.attempt) + "." + std::to_string(id.index) +
                  ": no such attempt");
  }
  auto row = DecodeTask(id, body);
  if (!row.ok()) return row.status();
  state_->Put(std::move(row).value());
  return Status::Ok();
}

Status StateLoader::AddShare(core::ShareId id, std::string_view body) {
  auto row = DecodeShare(std::move(id), body);
  if (!row.ok()) return row.status();
  state_->Put(std::move(row).value());
  return Status::Ok();
}

Status StateLoader::AddLifeTable(core::LifeTableId id, std::string_view body) {
  auto row = DecodeLifeTable(std::move(id), body);
  if (!row.ok()) return row.status();
  state_->Put(std::move(row).value());
  return Status::Ok();
}

Status StateLoader::AddAccount(const core::AccountKey& key, std::string_view body) {
  auto row = DecodeAccount(key, body);
  if (!row.ok()) return row.status();
  accounts_.Change({std::move(row).value()});
  return Status::Ok();
}

Status StateLoader::AddReservation(std::string name, std::string_view body) {
  auto row = DecodeReservation(std::move(name), body);
  if (!row.ok()) return row.status();
  state_->Put(std::move(row).value());
  return Status::Ok();
}

Status StateLoader::AddIdentity(const core::IdentityKey& key, std::string_view body) {
  auto row = DecodeIdentity(key, body);
  if (!row.ok()) return row.status();
  identity_.push_back({std::move(row).value()});
  return Status::Ok();
}

std::unique_ptr<core::ClusterState> StateLoader::Finish(core::PutIds stored) && {
  state_->SetAccounts(std::move(accounts_));
  state_->ChangeIdentity(identity_);
  const bool twice = core::Planted(core::PlantedBug::kJobNumberTwice) && last_job_.value > 0;
  state_->next_job_id = twice ? last_job_ : std::max(stored.next_job, core::JobId{last_job_.value + 1});
  state_->next_node_id = std::max(stored.next_node, core::NodeId{last_node_.value + 1});
  return std::move(state_);
}

}  // namespace glim::store
