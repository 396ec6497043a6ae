// What health checks found, counted: each event once, in few words.
#include "scheduler/server/metrics/health_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "scheduler/server/metrics/snapshot_gauges.h"

namespace glim::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

core::HealthEvent FoundAt(std::int64_t at_ms, const std::string& check, std::int64_t code = 0,
                          core::HealthVerdict verdict = core::HealthVerdict::kRecorded) {
  core::HealthEvent event;
  event.check = check;
  event.code = code;
  event.at = TimePoint{at_ms};
  event.verdict = verdict;
  return event;
}

core::Node NodeWith(std::vector<core::HealthEvent> events) {
  core::Node node;
  node.id = core::NodeId(1);
  node.name = "n1";
  node.health_events = std::move(events);
  return node;
}

// "check code verdict" of what these rows, one after the other in one commit, come to.
std::vector<std::string> Counted(const core::ClusterState& before, const std::vector<core::Node>& rows) {
  std::vector<core::Mutation> mutations;
  for (const core::Node& row : rows) mutations.emplace_back(std::make_shared<const core::Node>(row));
  std::vector<std::string> words;
  for (const HealthFound& found : NewHealthEvents(before.tables(), mutations)) {
    words.push_back(found.check + " " + found.code + " " + found.verdict);
  }
  return words;
}

TEST(HealthFigures, AnEventIsCountedWhenItsRowComesToKeepIt) {
  core::ClusterState state;
  const core::Node first = NodeWith({FoundAt(1, "link_flash")});
  EXPECT_THAT(Counted(state, {first}), ElementsAre("link_flash none recorded"));
  state.Put(first);
  core::Node second = NodeWith({FoundAt(1, "link_flash"), FoundAt(2, "xid", 79, core::HealthVerdict::kOut)});
  EXPECT_THAT(Counted(state, {second, second}), ElementsAre("xid 79 out")) << "written twice in a commit";
  core::Node pruned = NodeWith({FoundAt(2, "xid", 79, core::HealthVerdict::kOut), FoundAt(3, "link_flash")});
  EXPECT_THAT(Counted(state, {second, pruned}), ElementsAre("xid 79 out", "link_flash none recorded"));
  state.Put(second);
  second.message = "something else has changed";
  EXPECT_THAT(Counted(state, {second}), IsEmpty());
  EXPECT_THAT(Counted(state, {NodeWith({})}), IsEmpty());
}

TEST(HealthFigures, WordsAreFew) {
  EXPECT_THAT(Counted(core::ClusterState(), {NodeWith({FoundAt(1, "sxid_fatal", 24007)})}),
              ElementsAre("sxid_fatal none recorded"));
  EXPECT_THAT(Counted(core::ClusterState(), {NodeWith({FoundAt(1, "xid", 13), FoundAt(2, "xid", 119),
                                                       FoundAt(3, "xid", 4711), FoundAt(4, "made_up_by_a_node", 5)})}),
              ElementsAre("xid 13 recorded", "xid 119 recorded", "xid other recorded", "other none recorded"));
}

std::map<std::string, double> HealthSeries(const core::Node& node) {
  core::ClusterState state;
  state.Put(node);
  Snapshot snapshot;
  snapshot.tables = state.tables();
  snapshot.counts = std::make_shared<const core::StateCounts>(state.index().counts);
  snapshot.liveness = std::make_shared<const LivenessMap>();
  Families families;
  AddHealthFigures(snapshot, &families);
  AddNodeFigures(snapshot, TimePoint{0}, &families);
  std::map<std::string, double> series;
  for (const auto& family : families) {
    for (const auto& metric : family.metric) {
      std::string name = family.name;
      for (const auto& label : metric.label) name += " " + label.value;
      series[name] = metric.gauge.value;
    }
  }
  return series;
}

TEST(HealthFigures, NodesThatChecksKeepFromJobsAreOut) {
  core::Node node = NodeWith({});
  node.state = core::NodeState::kReady;
  EXPECT_EQ(HealthSeries(node).at("glim_nodes_out_by_health"), 0);
  node.health_conditions.resize(2);
  node.health_conditions[0].check = "link_down";
  node.health_conditions[0].verdict = core::HealthVerdict::kCordoned;
  node.health_conditions[1].check = "brand_new";
  auto series = HealthSeries(node);
  EXPECT_EQ(series.at("glim_nodes_out_by_health"), 1);
  EXPECT_EQ(series.at("glim_nodes_out health"), 1);
  EXPECT_EQ(series.at("glim_health_conditions link_down"), 1);
  EXPECT_EQ(series.at("glim_health_conditions other"), 1);
  node.health_conditions.clear();
  node.cordon.emplace().by = "health";
  EXPECT_EQ(HealthSeries(node).at("glim_nodes_out health"), 1);
  node.cordon->by = "kim";
  series = HealthSeries(node);
  EXPECT_EQ(series.at("glim_nodes_out_by_health"), 0);
  EXPECT_EQ(series.at("glim_nodes_out cordoned"), 1) << "an operator's";
}

TEST(HealthFigures, ANodeWhoseLabelsDifferIsOut) {
  core::Node node = NodeWith({});
  node.state = core::NodeState::kReady;
  node.hardware_differs = "its labels say 8 GPUs, its agent found 7 (A100)";
  EXPECT_EQ(HealthSeries(node).at("glim_nodes_out labels_differ"), 1);
}

}  // namespace
}  // namespace glim::server
