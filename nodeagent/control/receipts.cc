#include "nodeagent/control/receipts.h"

#include <nlohmann/json.hpp>

#include "nodeagent/sync/wire.h"
#include "nodeagent/task/sealed_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;
constexpr std::size_t kReceiptBytesMax = 64;

json JsonOf(const TaskKey& key, const std::string& receipt) {
  return {{"job", key.job}, {"attempt", key.attempt}, {"index", key.index}, {"receipt", receipt}};
}

std::pair<TaskKey, std::string> ReceiptIn(const json& value) {
  TaskKey key{value.at("job").get<std::uint64_t>(), value.at("attempt").get<std::uint32_t>(),
              value.at("index").get<std::uint32_t>()};
  return {key, value.at("receipt").get<std::string>()};
}

}  // namespace

Receipts::Receipts(std::string state_dir) : state_dir_(std::move(state_dir)) { Load(); }

void Receipts::Load() {
  const std::string path = state_dir_ + "/receipts.json";
  const Result<std::string> text = ReadSealed(path, kFileBytesMax);
  if (text.status().code() == StatusCode::kNotFound) return;
  std::string why = text.status().message();
  if (text.ok()) {
    try {
      const json file = json::parse(*text);
      for (const json& one : file.at("tasks")) receipts_.insert(ReceiptIn(one));
      highest_ = ReceiptIn(file.at("highest"));
      return;
    } catch (const json::exception& error) {
      why = error.what();
    }
  }
  receipts_.clear();
  const std::string place = SetAside(state_dir_, path);
  LogError("event=file_set_aside path={} now={} reason={}", Quoted(path), Quoted(place), Quoted(why));
}

void Receipts::Save() const {
  json tasks = json::array();
  for (const auto& [key, receipt] : receipts_) tasks.push_back(JsonOf(key, receipt));
  const json file = {{"format", 1}, {"tasks", std::move(tasks)}, {"highest", JsonOf(highest_.first, highest_.second)}};
  const std::string path = state_dir_ + "/receipts.json";
  if (Status status = WriteSealed(path, file.dump(), Durability::kProcess); !status.ok()) {
    LogError("event=receipts_not_written path={} error={}", Quoted(path), Quoted(status.message()));
  }
}

void Receipts::Take(const v1::DesiredState& set, const std::function<bool(const TaskKey&)>& is_there) {
  std::map<TaskKey, std::string> next;
  for (const auto& [key, receipt] : receipts_) {
    if (is_there(key)) next.emplace(key, receipt);
  }
  for (const v1::DesiredTask& task : set.tasks()) {
    const TaskKey key = KeyOf(task.attempt(), task.index());
    if (task.receipt().empty() || task.receipt().size() > kReceiptBytesMax) continue;
    next[key] = task.receipt();
    if (key.job >= highest_.first.job) highest_ = {key, task.receipt()};
  }
  if (next == receipts_) return;
  receipts_ = std::move(next);
  Save();
}

std::string Receipts::Of(const TaskKey& key) const {
  const auto found = receipts_.find(key);
  return found == receipts_.end() ? std::string() : found->second;
}

void Receipts::Introduce(v1::Hello* hello) const {
  if (highest_.second.empty()) return;
  v1::LaunchReceipt& highest = *hello->mutable_highest_launch();
  highest.mutable_attempt()->set_job_id(highest_.first.job);
  highest.mutable_attempt()->set_number(highest_.first.attempt);
  highest.set_index(highest_.first.index);
  highest.set_receipt(highest_.second);
}

}  // namespace glim::nodeagent
