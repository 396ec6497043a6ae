#include "nodeagent/task/rank_state.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "sdk/base/cut_text.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;

void AddSave(std::vector<SavedMessage>& saves, const SavedMessage& save) {
  std::erase_if(saves, [&](const SavedMessage& old) {
    return old.step == save.step && old.shard == save.shard && old.path == save.path;
  });
  saves.push_back(save);
  if (saves.size() > kSavesKept) saves.erase(saves.begin());
}

// With the save's path, unless the rank's own words have it.
std::string WhyNotRestored(const RestoreFailedMessage& failed) {
  std::string text = failed.error;
  if (text.find(failed.path) == std::string::npos) text.insert(0, failed.path + ": ");
  return CutText(text, kErrorBytesMax);
}

struct Change {
  RankState& state;

  Taken operator()(const RefusedMessage&) { return Taken::kRefused; }
  Taken operator()(const HelloMessage&) { return Taken::kRefused; }
  Taken operator()(const ProgressMessage& progress) {
    state.step = progress.step;
    state.step_ms = progress.step_ms;
    return Taken::kProgress;
  }
  Taken operator()(const AckMessage& ack) {
    if (ack.agreement < state.acked_agreement) return Taken::kChange;  // an answer that came too late for its agreement
    state.acked_agreement = ack.agreement;
    state.hold = ack.hold;
    if (ack.finished) state.finished = true;
    return Taken::kChange;
  }
  Taken operator()(const NeedsMessage& needs) {
    if (needs.agreement < state.extend_agreement) return Taken::kChange;
    state.extend_agreement = needs.agreement;
    state.extend_ms = needs.extend_ms;
    return Taken::kChange;
  }
  Taken operator()(const SavedMessage& saved) {
    AddSave(state.saves, saved);
    state.save_failure = {};
    return Taken::kChange;
  }
  Taken operator()(const SaveFailedMessage& failed) {
    SaveFailure& failure = state.save_failure;
    failure.step = failed.step < 0 ? state.step : failed.step;
    failure.why = CutText(failed.error, kErrorBytesMax);
    failure.count += failure.count < std::numeric_limits<std::uint32_t>::max() ? 1 : 0;
    return Taken::kChange;
  }
  Taken operator()(const RestoredMessage& restored) {
    state.restored_step = restored.step;
    state.restore_ms = restored.duration_ms;
    state.restore_failed.clear();  // it goes on all the same
    return Taken::kChange;
  }
  Taken operator()(const RestoreFailedMessage& failed) {
    state.restore_failed = WhyNotRestored(failed);
    return Taken::kChange;
  }
  Taken operator()(const LeavingMessage& leaving) {
    state.leaving = true;
    if (leaving.agreement == 0) state.yielded = true;
    return Taken::kChange;
  }
  Taken operator()(const FinishedMessage&) {
    state.finished = true;
    return Taken::kChange;
  }
};

json SaveToJson(const SavedMessage& save) {
  return {{"step", save.step},   {"path", save.path},     {"bytes", save.bytes},
          {"shard", save.shard}, {"shards", save.shards}, {"duration_ms", save.duration_ms}};
}

SavedMessage SaveFromJson(const json& value) {
  return {value.at("step").get<std::int64_t>(),    value.at("path").get<std::string>(),
          value.at("bytes").get<std::int64_t>(),   value.at("shard").get<std::uint32_t>(),
          value.at("shards").get<std::uint32_t>(), value.at("duration_ms").get<std::int64_t>()};
}

RankState RankFromJson(const json& value) {
  RankState rank;
  rank.rank = value.at("rank").get<std::uint32_t>();
  rank.seq = value.at("seq").get<std::uint64_t>();
  rank.greeted = value.value("greeted", rank.seq > 0);  // an older agent wrote none
  rank.step = value.at("step").get<std::int64_t>();
  rank.step_ms = value.at("step_ms").get<std::int64_t>();
  rank.acked_agreement = value.at("acked_agreement").get<std::uint32_t>();
  rank.hold = value.at("hold").get<std::int64_t>();
  rank.finished = value.at("finished").get<bool>();
  for (const json& save : value.at("saves")) rank.saves.push_back(SaveFromJson(save));
  rank.leaving = value.at("leaving").get<bool>();
  rank.extend_agreement = value.at("extend_agreement").get<std::uint32_t>();
  rank.extend_ms = value.at("extend_ms").get<std::int64_t>();
  rank.yielded = value.at("yielded").get<bool>();
  rank.restored_step = value.at("restored_step").get<std::int64_t>();
  rank.restore_ms = value.at("restore_ms").get<std::int64_t>();
  // An older agent wrote none of these.
  rank.restore_failed = value.value("restore_failed", "");
  if (const auto failure = value.find("save_failure"); failure != value.end()) {
    rank.save_failure = {failure->at("step").get<std::int64_t>(), failure->at("why").get<std::string>(),
                         failure->at("count").get<std::uint32_t>()};
  }
  return rank;
}

}  // namespace

Taken TakeIn(RankState& state, const TaskMessage& message) {
  if (message.seq != 0 && message.seq <= state.seq) return Taken::kRepeat;
  state.seq = std::max(state.seq, message.seq);
  return std::visit(Change{state}, message.body);
}

std::string ToJson(const std::vector<RankState>& ranks) {
  json list = json::array();
  for (const RankState& rank : ranks) {
    json saves = json::array();
    for (const SavedMessage& save : rank.saves) saves.push_back(SaveToJson(save));
    list.push_back({{"rank", rank.rank},
                    {"seq", rank.seq},
                    {"greeted", rank.greeted},
                    {"step", rank.step},
                    {"step_ms", rank.step_ms},
                    {"acked_agreement", rank.acked_agreement},
                    {"hold", rank.hold},
                    {"finished", rank.finished},
                    {"saves", std::move(saves)},
                    {"leaving", rank.leaving},
                    {"extend_agreement", rank.extend_agreement},
                    {"extend_ms", rank.extend_ms},
                    {"yielded", rank.yielded},
                    {"restored_step", rank.restored_step},
                    {"restore_ms", rank.restore_ms},
                    {"restore_failed", rank.restore_failed}});
    if (const SaveFailure& failure = rank.save_failure; failure.count > 0) {
      list.back()["save_failure"] = {{"step", failure.step}, {"why", failure.why}, {"count", failure.count}};
    }
  }
  return json({{"format", 1}, {"ranks", std::move(list)}}).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::vector<RankState>> ParseRankStates(const std::string& text) {
  try {
    const json value = json::parse(text);
    std::vector<RankState> ranks;
    for (const json& rank : value.at("ranks")) ranks.push_back(RankFromJson(rank));
    return ranks;
  } catch (const json::exception& error) {
    return Status(StatusCode::kDataLoss, std::string("ranks.json: ") + error.what());
  }
}

}  // namespace glim::nodeagent
