#include "scheduler/notify/progress.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace glim::notify {
namespace {

Status Damaged() {
  return Status(StatusCode::kDataLoss, "how far notifications have come cannot be read").WithReason("STORE_CORRUPT");
}

}  // namespace

std::uint64_t Progress::ReadAgainFrom() const {
  std::uint64_t from = read;
  for (const auto& [target, seq] : told) from = std::min(from, seq);
  return from;
}

bool Progress::WasTold(const std::string& target, std::uint64_t seq) const {
  const auto it = told.find(target);
  return seq <= (it == told.end() ? read : it->second);
}

std::string WriteProgress(const Progress& progress) {
  return nlohmann::json{{"read", progress.read}, {"told", progress.told}}.dump();
}

Result<Progress> ReadProgress(const std::string& text) {
  const auto tree = nlohmann::json::parse(text, nullptr, false);
  if (!tree.is_object() || !tree.contains("read") || !tree["read"].is_number_unsigned()) return Damaged();
  Progress progress{tree["read"].get<std::uint64_t>()};
  if (!tree.contains("told")) return progress;
  if (!tree["told"].is_object()) return Damaged();
  for (const auto& [target, seq] : tree["told"].items()) {
    if (!seq.is_number_unsigned()) return Damaged();
    progress.told[target] = seq.get<std::uint64_t>();
  }
  return progress;
}

}  // namespace glim::notify
