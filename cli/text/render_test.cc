// How answers and errors are printed: tables, JSON, errors.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/text/errors.h"
#include "cli/text/render_json.h"
#include "cli/text/render_table.h"

namespace glim::cli {
namespace {

TEST(JsonView, OneLineThatATerminalMayShow) {
  glim::v1::Job job;
  job.mutable_spec()->set_run("a\x1b[31m\n\xc2\x9b\x7f\xe4\xb8\xad");
  const std::string text = DumpJson(JobJson(job));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x7f'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(text)["spec"]["run"], job.spec().run());
}

TEST(Tables, CellsAreEscapedCutAndAligned) {
  Table table({{"A", false, 6}, {"B", true}});
  table.AddRow({"abcdefghij", "1"});
  table.AddRow({"x\ny", "100"});
  EXPECT_EQ(table.Render(false, 2), "  A         B\n  abc...    1\n  x\\ny    100\n");
}

TEST(Errors, TextAndExitCode) {
  const Status status = Status(StatusCode::kFailedPrecondition, "24 nodes requested, pool h800 has 16")
                            .WithReason("INFEASIBLE")
                            .WithField("nodes")
                            .WithFix("use at most 16 nodes");
  EXPECT_EQ(ErrorText(status, false),
            "error: 24 nodes requested, pool h800 has 16  [INFEASIBLE]\n  field: nodes\n  fix: use at most 16 nodes\n");
  EXPECT_EQ(ExitCodeOf(status), 6);
  EXPECT_EQ(ErrorText(Status(StatusCode::kNotFound, "no job 7"), false), "error: no job 7  [NOT_FOUND]\n");
}

}  // namespace
}  // namespace glim::cli
