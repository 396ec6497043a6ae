// Counters that rise, fall and go on after a restart.
#include "nodeagent/health/counters.h"

#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

TEST(Counters, TheFirstLookIsTheBeginning) {
  Memory memory;
  EXPECT_EQ(Rise(memory, "a", 7), 0);
  EXPECT_EQ(Rise(memory, "a", 7), 0);
  EXPECT_EQ(Rise(memory, "a", 10), 3);
  EXPECT_EQ(Rise(memory, "a", 2), 0) << "it was set back";
  EXPECT_EQ(Rise(memory, "a", 3), 1);
}

TEST(Counters, WhatRoseWhileNobodyLookedIsTold) {
  Memory memory;
  Rise(memory, "a", 7);
  Memory kept = memory;  // by the file, over a restart
  EXPECT_EQ(Rise(kept, "a", 9), 2);
}

TEST(Counters, APacedRiseIsToldAtOnceAndThenSummed) {
  Memory memory;
  EXPECT_EQ(PacedRise(memory, "a", 5, 0, 1000), 0);
  EXPECT_EQ(PacedRise(memory, "a", 6, 10, 1000), 1);
  EXPECT_EQ(PacedRise(memory, "a", 8, 500, 1000), 0);
  EXPECT_EQ(PacedRise(memory, "a", 9, 1009, 1000), 0);
  EXPECT_EQ(PacedRise(memory, "a", 9, 1010, 1000), 3);
  EXPECT_EQ(PacedRise(memory, "a", 9, 5000, 1000), 0);
  EXPECT_EQ(PacedRise(memory, "a", 0, 6000, 1000), 0) << "it was set back";
  EXPECT_EQ(PacedRise(memory, "a", 2, 7000, 1000), 2);
}

TEST(Counters, ARateIsExceededOnceAWindow) {
  const AllowedRise allowed{10, 1000};
  Memory memory;
  EXPECT_EQ(TooFast(memory, "a", 100, 0, allowed), 0);
  EXPECT_EQ(TooFast(memory, "a", 110, 100, allowed), 0) << "as many as are allowed";
  EXPECT_EQ(TooFast(memory, "a", 111, 200, allowed), 11);
  EXPECT_EQ(TooFast(memory, "a", 150, 300, allowed), 0) << "told";
  EXPECT_EQ(TooFast(memory, "a", 151, 1000, allowed), 0) << "the next window begins";
  EXPECT_EQ(TooFast(memory, "a", 161, 1500, allowed), 0);
  EXPECT_EQ(TooFast(memory, "a", 170, 2000, allowed), 19) << "at the window's end, too";
  EXPECT_EQ(TooFast(memory, "a", 3, 2100, allowed), 0) << "it was set back";
  EXPECT_EQ(TooFast(memory, "a", 14, 2200, allowed), 11);
}

}  // namespace
}  // namespace glim::nodeagent::health
