// glim admin report: where every GPU-second went (the ledger), and reports over the jobs that have ended.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/commands/moment_option.h"
#include "cli/text/errors.h"
#include "cli/text/render_json.h"
#include "cli/text/time_text.h"
#include "cli/views/hardware_report_view.h"
#include "cli/views/history_report_view.h"
#include "cli/views/storage_report_view.h"
#include "cli/views/views.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/suggest.h"

namespace glim::cli {
namespace {

constexpr std::string_view kLedger = "ledger";
constexpr std::string_view kStorage = "storage";
constexpr std::string_view kHardware = "hardware";
// The others in the order of ReportKind.
constexpr std::array<std::string_view, 7> kReports = {kLedger,    "usage",  "goodput", "waits",
                                                      "failures", kStorage, kHardware};
constexpr std::array<std::string_view, 3> kFormats = {"table", "csv", "json"};
constexpr Duration kReportSince = Hours(24 * 30);
constexpr Duration kHardwareSince = Hours(24 * 365);

struct AdminReportOptions {
  std::string what{kLedger};
  std::string by;  // empty: what the report is by unless one says
  std::string pool, team, user;
  std::optional<TimePoint> since, until;
  std::string format = "table";
  bool json = false;
  bool running = false;
};

// The scheduler's invariant, looked at once more where people read it.
Status CheckSum(const glim::v1::GetReportResponse& report) {
  if (report.total_gpu_ms() == report.registered_gpu_ms()) return Status::Ok();
  return Status(StatusCode::kInternal,
                fmt::format("the rows sum to {} GPU-milliseconds, the nodes were registered for {}",
                            report.total_gpu_ms(), report.registered_gpu_ms()))
      .WithReason("LEDGER_BROKEN")
      .WithFix("report this as a fault of Glim, with the output of 'glim admin report'");
}

Status RunLedger(CommandContext& context, const AdminReportOptions& options) {
  if (options.since || options.until || options.running || !options.pool.empty() || !options.team.empty() ||
      !options.user.empty() || options.format == "csv") {
    return UsageError(
        "the ledger is a table of all nodes since they registered: --since, --until, --running, --pool, --team, --user "
        "and --format csv are of 'glim admin report usage', goodput, waits and failures");
  }
  glim::v1::GetReportRequest request;
  request.set_by(options.by.empty() ? "pool" : options.by);
  Result<glim::v1::GetReportResponse> report = context.client.Call(&glim::v1::AdminApi::Stub::GetReport, request);
  if (!report.ok()) return report.status();
  if (context.output.json() || options.json || options.format == "json") {
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

Status RunStorage(CommandContext& context, const AdminReportOptions& options) {
  if (options.since || options.until || options.running || !options.pool.empty()) {
    return UsageError(
        "storage is what lies there now, of running jobs and of ended ones: --since, --until, --running and --pool are "
        "of 'glim admin report usage', goodput, waits and failures");
  }
  glim::v1::GetStorageReportRequest request;
  request.set_by(options.by.empty() ? "user" : options.by);
  request.set_team(options.team);
  request.set_user(options.user);
  auto report = context.client.Call(&glim::v1::ReportApi::Stub::GetStorageReport, request);
  if (!report.ok()) return report.status();
  if (context.output.json() || options.json || options.format == "json") {
    Json document = NewDocument();
    document["report"] = MessageJson(*report);
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  if (options.format == "csv") {
    context.output.Data(StorageReportCsv(*report));
    return Status::Ok();
  }
  if (report->total().jobs() > 0) context.output.Data(StorageReportTable(*report, context.output.colour()));
  context.output.Note(StorageReportNote(*report));
  return Status::Ok();
}

Status RunHardware(CommandContext& context, const AdminReportOptions& options) {
  if (options.running || !options.by.empty() || !options.pool.empty() || !options.team.empty() ||
      !options.user.empty()) {
    return UsageError(
        "hardware is a report on all nodes: --by, --running, --pool, --team and --user are of 'glim admin report "
        "failures', which is by how jobs ended");
  }
  glim::v1::GetHardwareReportRequest request;
  request.set_since_ms(std::max<std::int64_t>(0, options.since.value_or(Now() - kHardwareSince).ms));
  request.set_until_ms(options.until.value_or(TimePoint{}).ms);
  auto report = context.client.Call(&glim::v1::ReportApi::Stub::GetHardwareReport, request);
  if (!report.ok()) return report.status();
  if (context.output.json() || options.json || options.format == "json") {
    Json document = NewDocument();
    document["report"] = MessageJson(*report);
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  if (options.format == "csv") {
    context.output.Data(HardwareReportCsv(*report));
    return Status::Ok();
  }
  context.output.Data(HardwareReportTables(*report, context.output.colour()));
  context.output.Note(HardwareReportNote(*report));
  return Status::Ok();
}

Status RunHistoryReport(CommandContext& context, const AdminReportOptions& options) {
  const auto* const kind = std::find(kReports.begin() + 1, kReports.end(), options.what);
  glim::v1::GetHistoryReportRequest request;
  request.set_by(options.by.empty() ? "pool" : options.by);
  if (options.running && (options.since || options.until)) {
    return UsageError(
        "--running tells what jobs that have not ended have had until now: it has no --since, no --until");
  }
  if (options.running && options.what == "failures") return UsageError("a job that has not ended has not failed");
  request.set_running(options.running);
  if (!options.running) {
    request.set_since_ms(std::max<std::int64_t>(0, options.since.value_or(Now() - kReportSince).ms));
    request.set_until_ms(options.until.value_or(TimePoint{}).ms);
  }
  request.set_pool(options.pool);
  request.set_team(options.team);
  request.set_user(options.user);
  auto report = context.client.Call(&glim::v1::ReportApi::Stub::GetHistoryReport, request);
  if (!report.ok()) return report.status();
  const auto what = static_cast<ReportKind>(kind - kReports.begin() - 1);
  if (context.output.json() || options.json || options.format == "json") {
    Json document = NewDocument();
    document["report"] = MessageJson(*report);
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  if (options.format == "csv") {
    context.output.Data(HistoryReportCsv(what, *report));
    return Status::Ok();
  }
  if (options.running) {
    if (report->total().jobs() > 0) {
      context.output.Data(HistoryReportTable(what, *report, context.output.colour()));
    }
    context.output.Note(fmt::format("{} jobs that have not ended, with what they have had from their submission to {}",
                                    report->total().jobs(), FormatRfc3339(TimePoint{report->until_ms()})));
    return Status::Ok();
  }
  if (report->total().jobs() == 0) {
    context.output.Note("no job ended in that time; --since 365d looks further back");
    return Status::Ok();
  }
  context.output.Data(HistoryReportTable(what, *report, context.output.colour()));
  context.output.Note(fmt::format("{} jobs that ended from {} to {}", report->total().jobs(),
                                  FormatRfc3339(TimePoint{report->since_ms()}),
                                  FormatRfc3339(TimePoint{report->until_ms()})));
  if (options.what == "failures") context.output.Note("what failed in the nodes: glim admin report hardware");
  return Status::Ok();
}

Status RunAdminReport(CommandContext& context, const AdminReportOptions& options) {
  if (options.format == "csv" && (context.output.json() || options.json)) {
    return UsageError("--format csv and JSON (-o json, --json, GLIM_OUTPUT) exclude each other",
                      "leave one of them out, or say -o table --format csv");
  }
  if (options.what == kHardware) return RunHardware(context, options);
  if (options.what == kStorage) return RunStorage(context, options);
  return options.what == kLedger ? RunLedger(context, options) : RunHistoryReport(context, options);
}

template <std::size_t kWords>
WordCheck OneOf(const std::array<std::string_view, kWords>& words, const char* what) {
  return [&words, what](const std::string& word) -> std::string {
    if (std::find(words.begin(), words.end(), word) != words.end()) return "";
    std::string all;
    for (const std::string_view one : words) all += (all.empty() ? "" : ", ") + std::string(one);
    const std::string near = Nearest(word, words);
    return "'" + word + "' is no " + what + "; " +
           (near.empty() ? "use one of " + all : "did you mean '" + near + "'?");
  };
}

constexpr char kReportHelp[] =
    "ledger: every GPU-second of every node since it registered (without a word: this one); usage: what ended jobs "
    "had, and what that comes to; goodput: how much of it was productive, how much was lost; waits: how long jobs "
    "waited and ran; failures: how many failed, and why; storage: what jobs' saves take, of running and ended ones; "
    "hardware: what failed in nodes in a year (Xids, memory, links, nodes, lost work), and how often a node fails";

}  // namespace

void AddAdminReport(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<AdminReportOptions>();
  Syntax report = admin.AddCommand("report", "Show where GPU-time went, and how jobs fared");
  report.Example("glim admin report");
  report.Example("glim admin report usage --by team --since 30d");
  report.Example("glim admin report waits --by class --since 2026-11-01 --until 2026-12-01");
  report.Example("glim admin report failures --by user --pool a100 --format csv > failures.csv");
  report.CheckedOption("REPORT", &options->what, kReportHelp, OneOf(kReports, "report"));
  report.Example("glim admin report usage --by user --running");
  report.Example("glim admin report storage --by user");
  report.Example("glim admin report hardware --since 90d");
  report.Option("--by", &options->by,
                "pool, team, user, class or job (pool); the ledger has no class, storage neither that nor pool (user)");
  report.Flag("--running", &options->running,
              "instead the jobs that have not ended, with all that they have had so far");
  report.ParsedOption("--since", "jobs that ended in this time (30d), or from this moment on (2026-11-01)",
                      IntoMoment(&options->since));
  report.ParsedOption("--until", "jobs that ended before this moment, or longer ago than this (now)",
                      IntoMoment(&options->until));
  report.Option("--pool", &options->pool, "only this pool's jobs");
  report.Option("--team", &options->team, "only this team's");
  report.Option("--user", &options->user, "only this user's");
  report.CheckedOption("--format", &options->format, "table, csv or json (table)", OneOf(kFormats, "format"));
  report.Flag("--json", &options->json, "the same as -o json");
  report.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunAdminReport(context, *options); }; });
}

}  // namespace glim::cli
