// What `glim status` says of single things; the whole of it: render_test.cc.
#include <gtest/gtest.h>

#include "cli/views/receipt.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

constexpr TimePoint kStatusAt{1'763'640'547'125};

// As `glim logs --rank` takes them.
TEST(StatusView, ANodesRanksAreThoseOfItsProcesses) {
  glim::v1::Job job;
  job.mutable_spec()->set_gpus_per_node(8);
  auto* attempt = job.add_attempts();
  for (int node = 0; node < 2; ++node) attempt->add_tasks()->set_index(static_cast<std::uint32_t>(node));
  EXPECT_NE(StatusText(job, {}, kStatusAt, false).find("\n     1  "), std::string::npos)
      << "launcher: node has one a node";
  job.mutable_spec()->set_launcher(glim::v1::LAUNCHER_PER_GPU);
  const std::string text = StatusText(job, {}, kStatusAt, false);
  EXPECT_NE(text.find("\n   0-7  "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  8-15  "), std::string::npos) << text;
}

TEST(StatusView, WhereTheSavesOfOthersLieIsNotSaid) {
  glim::v1::Job job;
  job.set_durable_step(500);
  EXPECT_NE(StatusText(job, {}, kStatusAt, false).find("\ncheckpoint  step 500\n"), std::string::npos);
}

TEST(StatusView, AKnownFailureComesWithItsHint) {
  glim::v1::Job job;
  job.set_state("failed");
  job.mutable_spec()->set_run("nosuch");
  auto* attempt = job.add_attempts();
  attempt->set_outcome("failed");
  attempt->set_message("rank 0 on node n1 exited with code 127 (command not found): bash: nosuch: command not found");
  const std::string text = StatusText(job, {}, kStatusAt, false);
  const std::size_t message = text.find("  " + attempt->message() + "\n  hint: the shell found no such program");
  EXPECT_NE(message, std::string::npos) << text;
}

}  // namespace
}  // namespace glim::cli
