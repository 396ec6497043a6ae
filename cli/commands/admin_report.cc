// glim admin report: where every GPU-second went.
#include <memory>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/text/render_json.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

// The scheduler's invariant, looked at once more where people read it.
Status CheckSum(const glim::v1::GetReportResponse& report) {
  if (report.total_gpu_ms() == report.registered_gpu_ms()) return Status::Ok();
  return Status(StatusCode::kInternal,
                fmt::format("the rows sum to {} GPU-milliseconds, the nodes were registered for {}",
                            report.total_gpu_ms(), report.registered_gpu_ms()))
      .WithReason("LEDGER_BROKEN")
      .WithFix("report this as a fault of Glim, with the output of 'glim admin report'");
}

struct AdminReportOptions {
  std::string by = "pool";
  bool json = false;
};

Status RunAdminReport(CommandContext& context, const AdminReportOptions& options) {
  glim::v1::GetReportRequest request;
  request.set_by(options.by);
  Result<glim::v1::GetReportResponse> report = context.client.Call(&glim::v1::AdminApi::Stub::GetReport, request);
  if (!report.ok()) return report.status();
  if (context.output.json() || options.json) {
    Json document = NewDocument();
    document["report"] = MessageJson(*report);
    context.output.Data(DumpJson(document));
    return CheckSum(*report);
  }
  if (report->registered_gpu_ms() == 0) {
    context.output.Note("no GPU-time: no node with GPUs has registered");
    return Status::Ok();
  }
  context.output.Data(ReportTable(*report, context.output.colour()));
  context.output.Note(fmt::format("{} GPU-ms in the rows = {} GPU-ms registered: each is in one column of one row",
                                  report->total_gpu_ms(), report->registered_gpu_ms()));
  return CheckSum(*report);
}

}  // namespace

void AddAdminReport(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<AdminReportOptions>();
  Syntax report = admin.AddCommand("report", "Show where every GPU-second went");
  report.Option("--by", &options->by, "pool, team, user or job (pool)");
  report.Flag("--json", &options->json, "the same as -o json");
  report.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunAdminReport(context, *options); }; });
}

}  // namespace glim::cli
