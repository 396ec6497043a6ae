// Which waits are asked about, and what is made of the answers.
#include "scheduler/sim/trace/trace_estimates.h"

#include <gtest/gtest.h>

#include "scheduler/sim/trace/trace_figures.h"

namespace glim::sim {
namespace {

core::Estimate Between(std::int64_t earliest_s, std::int64_t latest_s) {
  core::Estimate estimate;
  estimate.earliest = TimePoint{} + Seconds(earliest_s);
  estimate.latest = TimePoint{} + Seconds(latest_s);
  return estimate;
}

TEST(EstimateSampler, KeepsAFewSpreadOverTheWholeRun) {
  EstimateSampler sampler;
  constexpr std::size_t kWaits = 3000;
  std::size_t asked = 0;
  for (std::size_t row = 0; row < kWaits; ++row) {
    if (sampler.Begins(row)) {
      ++asked;
      sampler.Asked(row, Between(static_cast<std::int64_t>(row) + 1, 9000));
    }
    sampler.Started(row, TimePoint{} + Seconds(9000));
  }
  const auto kept = sampler.Take();
  ASSERT_EQ(kept.size(), kWaits / 8 + (kWaits % 8 != 0));
  EXPECT_LE(kept.size(), kEstimatesKept);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].estimate.earliest, TimePoint{} + Seconds(static_cast<std::int64_t>(i) * 8 + 1));
    EXPECT_EQ(kept[i].started, TimePoint{} + Seconds(9000));
  }
  EXPECT_LT(asked, 4 * kEstimatesKept);
}

TEST(EstimateSampler, EachWaitOfAJobIsOneOfItsOwn) {
  EstimateSampler sampler;
  for (const std::int64_t at : {100, 200}) {
    ASSERT_TRUE(sampler.Begins(5));
    sampler.Asked(5, Between(at, at + 50));
    sampler.Started(5, TimePoint{} + Seconds(at + 10));
    sampler.Started(5, TimePoint{} + Seconds(at + 60));  // a start without a wait that was asked about
  }
  ASSERT_TRUE(sampler.Begins(6));
  sampler.Asked(6, Between(1, 2));
  const auto kept = sampler.Take();
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].started, TimePoint{} + Seconds(110));
  EXPECT_EQ(kept[1].started, TimePoint{} + Seconds(210));
  EXPECT_FALSE(kept[2].started) << "it waits still";
}

TEST(Calibration, CountsWhatStartedWithinBeforeAndAfter) {
  core::Estimate unknown;
  unknown.unknown = "too few jobs have ended";
  const auto at = [](std::int64_t s) { return TimePoint{} + Seconds(s); };
  const auto json = CalibrationOf({{Between(10, 20), at(10)},
                                   {Between(10, 30), at(30)},
                                   {Between(10, 40), at(9)},
                                   {Between(10, 50), at(51)},
                                   {unknown, at(5)},
                                   {Between(10, 20), {}}});
  EXPECT_EQ(json["estimates_asked"], 6);
  EXPECT_EQ(json["estimates_unknown"], 1);
  EXPECT_EQ(json["estimates_within_fraction"], 0.5);
  EXPECT_EQ(json["estimates_early_fraction"], 0.25);
  EXPECT_EQ(json["estimates_late_fraction"], 0.25);
  EXPECT_EQ(json["estimate_width_median_s"], 20);
  EXPECT_EQ(CalibrationOf({})["estimates_within_fraction"], 0);
}

// A job starts when the one before it ends; all of them take as long as those before them did.
TEST(Calibration, ATraceOfJobsThatAreAlikeIsForeseen) {
  TraceOptions options;
  options.nodes = 1;
  options.estimates = true;
  std::vector<TraceJob> trace;
  for (int i = 0; i < 80; ++i) {
    TraceJob job;
    job.name = "j" + std::to_string(i);
    job.user = "ann";
    job.duration = Seconds(600);
    job.submit = Seconds(1000 * (i / 2));  // pairs: the second of each waits for the first
    trace.push_back(job);
  }
  const TraceOutcome outcome = TraceWorld(options, trace).Run();
  EXPECT_EQ(outcome.violations, 0u);
  const auto json = CalibrationOf(outcome.estimates);
  EXPECT_GE(json["estimates_asked"], 40);
  EXPECT_GT(json["estimates_unknown"], 0) << "when nothing had ended yet";
  EXPECT_LT(json["estimates_unknown"], 20);
  EXPECT_GT(json["estimates_within_fraction"], 0.5);
  options.estimates = false;
  EXPECT_TRUE(TraceWorld(options, trace).Run().estimates.empty());
}

}  // namespace
}  // namespace glim::sim
