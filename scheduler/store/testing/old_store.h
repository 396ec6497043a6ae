// A store of schema version 10, as that version's programs wrote it (stores/version-10.sql).
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "scheduler/core/model/cluster_state.h"
#include "sdk/base/testing/folders.h"

namespace glim::store {

inline constexpr std::size_t kOldVersion = 10;

inline std::string OldRows() {
  std::ifstream file(SourceFile("scheduler/store/testing/stores/version-10.sql"));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// That nothing of it is missing, and rows of each kind are what they were.
inline void ExpectOldRows(const core::ClusterState& state) {
  const core::Tables& tables = state.tables();
  EXPECT_EQ(tables.nodes.size(), 4u);
  EXPECT_EQ(tables.jobs.size(), 10u);
  EXPECT_EQ(tables.attempts.size(), 8u);
  EXPECT_EQ(tables.tasks.size(), 10u);
  EXPECT_EQ(tables.shares.size(), 1u);
  EXPECT_EQ(tables.life_tables.size(), 7u);
  EXPECT_EQ(tables.reservations.size(), 1u);
  EXPECT_EQ(state.accounts().Rows().size(), 9u);
  EXPECT_EQ(state.identity().Rows().size(), 9u);
  EXPECT_EQ(state.index(), state.RebuildIndex());
  EXPECT_EQ(state.next_job_id, core::JobId(11));
  EXPECT_EQ(state.next_node_id, core::NodeId(5));

  const core::AttemptId running{core::JobId(5), 2};
  ASSERT_NE(state.FindAttempt(running), nullptr);
  EXPECT_EQ(state.FindAttempt(running)->state, core::AttemptState::kRunning);
  ASSERT_NE(state.FindTask({running, 1}), nullptr);
  EXPECT_EQ(state.FindTask({running, 1})->phase, core::TaskPhase::kRunning);
  EXPECT_EQ(state.FindJob(core::JobId(6))->state, core::JobState::kHeld);
  EXPECT_EQ(state.FindNode(core::NodeId(2))->name, "n1");
  EXPECT_EQ(state.FindNode(core::NodeId(2))->holder, running);
  EXPECT_TRUE(state.FindNode(core::NodeId(4))->cordon.has_value());
  EXPECT_EQ(tables.shares.Find({"", "root"})->gpu_ms, 87'880);
  EXPECT_EQ(tables.life_tables.Find({3, "root", 1, 0})->ended, std::vector<std::uint32_t>{4});
  EXPECT_EQ(state.FindReservation("week")->node_names, std::vector<std::string>{"n4"});
  EXPECT_EQ(state.accounts().users.at("kim").teams, std::vector<std::string>{"vision"});
  EXPECT_EQ(state.accounts().pools.at("spare").note, "for later");
  EXPECT_TRUE(state.accounts().imported.empty());
  EXPECT_FALSE(state.accounts().layout_imported.empty());
  EXPECT_NE(state.identity().nodes.Find("n3"), nullptr);
  EXPECT_NE(state.identity().secrets.Find({"root", "wandb"}), nullptr);
}

}  // namespace glim::store
