#include "proto/json/document.h"

#include <gtest/gtest.h>

namespace glim::proto {
namespace {

TEST(DumpJson, HasNothingThatMovesTheCursor) {
  Json document;
  document["a"] = "\xc2\x9b\x7f\xe4\xb8\xad\xf3\xa0\x80\x81\xff";
  EXPECT_EQ(DumpJson(document), "{\"a\":\"\\u009b\\u007f\xe4\xb8\xad\\udb40\\udc01\xef\xbf\xbd\"}\n");
}

TEST(JobJson, CountsTheGangsGpusAndMarksSimulatedOnes) {
  glim::v1::Job job;
  job.mutable_spec()->set_nodes(4);
  job.mutable_spec()->set_gpus_per_node(8);
  EXPECT_EQ(JobJson(job)["gpus"], 32);
  EXPECT_EQ(JobJson(job)["gpus_simulated"], false);
  job.add_attempts()->add_tasks()->set_simulated_gpus(true);
  EXPECT_EQ(JobJson(job)["gpus_simulated"], true);
}

}  // namespace
}  // namespace glim::proto
