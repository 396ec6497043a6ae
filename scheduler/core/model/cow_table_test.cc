// CowTable against std::map: the same answers after any series of writes, and copies that never change.
#include "scheduler/core/model/cow_table.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "sdk/base/rng.h"

namespace glim::core {
namespace {

using Table = CowTable<int, int>;
using Model = std::map<int, int>;

Table::RowPtr Row(int value) { return std::make_shared<const int>(value); }

Model Contents(const Table& table) {
  Model contents;
  int last = -1;
  table.ForEach([&](int key, int row) {
    EXPECT_LT(last, key) << "not in key order";
    last = key;
    contents[key] = row;
  });
  return contents;
}

void ExpectSame(const Table& table, const Model& model) {
  ASSERT_EQ(table.size(), model.size());
  ASSERT_EQ(table.empty(), model.empty());
  ASSERT_EQ(Contents(table), model);
}

std::optional<int> ValueOf(const Table::RowPtr& row) { return row ? std::optional(*row) : std::nullopt; }

std::optional<int> ValueIn(const Model& model, int key) {
  const auto found = model.find(key);
  return found == model.end() ? std::nullopt : std::optional(found->second);
}

TEST(CowTable, AnEmptyOneHasNothing) {
  Table table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.Find(1), nullptr);
  EXPECT_EQ(table.FindShared(1), nullptr);
  EXPECT_FALSE(table.Erase(1));
  table.VisitFrom(0, [](int, int) {
    ADD_FAILURE();
    return true;
  });
}

TEST(CowTable, VisitFromBeginsAtTheKeyAndStopsWhenTold) {
  Table table;
  for (int key = 0; key < 1000; key += 2) table.Put(key, Row(key));
  std::vector<int> seen;
  table.VisitFrom(255, [&](int key, int) {
    seen.push_back(key);
    return seen.size() < 3;
  });
  EXPECT_EQ(seen, (std::vector<int>{256, 258, 260}));
  table.VisitFrom(999, [](int, int) {
    ADD_FAILURE();
    return true;
  });
}

// The operations that a write may be; a copy may be taken, assigned back or assigned to itself at any time.
void RandomWalk(std::uint64_t seed, int keys, int steps) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  Table table;
  Model model;
  std::vector<std::pair<Table, Model>> copies;
  for (int i = 0; i < steps; ++i) {
    const int key = static_cast<int>(rng.Between(0, keys));
    switch (rng.Between(0, 9)) {
      case 0:
      case 1:
      case 2:
        ASSERT_EQ(ValueOf(table.Erase(key)), ValueIn(model, key));
        model.erase(key);
        break;
      case 3:
        if (rng.OneIn(8)) copies.emplace_back(table, model);
        break;
      case 4:
        if (!copies.empty() && rng.OneIn(20)) {
          const auto at = rng.Between(0, static_cast<std::int64_t>(copies.size()) - 1);
          const auto& [old_table, old_model] = copies[static_cast<std::size_t>(at)];
          table = old_table;
          model = old_model;
        }
        break;
      case 5:
        // Copies are tables as well: one may be written while the others stay.
        if (!copies.empty()) {
          auto& [copy, its_model] = copies.back();
          copy.Put(key, Row(-i));
          its_model[key] = -i;
        }
        break;
      default: ASSERT_EQ(ValueOf(table.Put(key, Row(i))), ValueIn(model, key)); model[key] = i;
    }
    const int* found = table.Find(key);
    ASSERT_EQ(found != nullptr, model.contains(key));
    if (found) {
      ASSERT_EQ(*found, model[key]);
    }
  }
  ExpectSame(table, model);
  for (const auto& [copy, its_model] : copies) ExpectSame(copy, its_model);
}

TEST(CowTable, IsAMapWhoseCopiesStayAsTheyWere) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) RandomWalk(seed, 40, 2000);     // few keys: much rewriting
  for (std::uint64_t seed = 21; seed <= 30; ++seed) RandomWalk(seed, 3000, 6000);  // many chunks
}

TEST(CowTable, GrowsInOrderBackwardsAndEmptiesAgain) {
  for (const bool forward : {true, false}) {
    Table table;
    Model model;
    for (int i = 0; i < 1000; ++i) {
      const int key = forward ? i : 999 - i;
      table.Put(key, Row(key));
      model[key] = key;
    }
    ExpectSame(table, model);
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(table.Erase((i * 7) % 1000));
    ExpectSame(table, {});
    table.Put(5, Row(5));
    ExpectSame(table, {{5, 5}});
  }
}

TEST(CowTable, ARowThatAReaderHoldsOutlivesItsReplacement) {
  Table table;
  table.Put(1, Row(10));
  const Table snapshot = table;
  const int* seen = snapshot.Find(1);
  table.Put(1, Row(20));
  table.Erase(1);
  EXPECT_EQ(*seen, 10);
  EXPECT_EQ(table.Find(1), nullptr);
}

TEST(CowTable, CopiesShareTheRowsThatNobodyWrote) {
  Table table;
  for (int key = 0; key < 1000; ++key) table.Put(key, Row(key));
  const Table snapshot = table;
  table.Put(0, Row(-1));
  EXPECT_EQ(snapshot.Find(999), table.Find(999));
  EXPECT_NE(snapshot.Find(0), table.Find(0));
}

TEST(CowTable, ForEachChangeTellsWhatIsAnotherRowAfterAnyWrites) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    Table table;
    for (int i = 0; i < 600; ++i) table.Put(static_cast<int>(rng.Between(0, 1999)), Row(i));
    const Table before = table;
    const auto writes = static_cast<int>(rng.Between(0, seed % 2 == 0 ? 500 : 5));
    for (int i = 0; i < writes; ++i) {
      const int key = static_cast<int>(rng.Between(0, 1999));
      if (rng.OneIn(3)) {
        table.Erase(key);
      } else {
        table.Put(key, Row(1000 + i));
      }
    }
    Model patched = Contents(before);
    int last = -1;
    Table::ForEachChange(before, table, [&](int key, const int* old_row, const int* new_row) {
      EXPECT_LT(last, key) << "not in key order";
      last = key;
      EXPECT_EQ(old_row, before.Find(key));
      EXPECT_EQ(new_row, table.Find(key));
      EXPECT_NE(old_row, new_row);
      if (new_row == nullptr) {
        patched.erase(key);
      } else {
        patched[key] = *new_row;
      }
    });
    ExpectSame(table, patched);
  }
}

TEST(CowTable, ForEachChangeVisitsNothingBetweenCopies) {
  Table table;
  for (int key = 0; key < 1000; ++key) table.Put(key, Row(key));
  const Table copy = table;
  int visits = 0;
  Table::ForEachChange(copy, table, [&](int, const int*, const int*) { ++visits; });
  EXPECT_EQ(visits, 0);
  table.Put(500, Row(1));
  Table::ForEachChange(copy, table, [&](int, const int*, const int*) { ++visits; });
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace glim::core
