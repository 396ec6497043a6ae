#include "cli/commands/row_change.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/text/errors.h"
#include "cli/text/file.h"
#include "cli/text/text.h"
#include "cli/views/row_view.h"

namespace glim::cli {
namespace {

using glim::v1::LayoutApi;
using glim::v1::RowChange;

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;
constexpr std::size_t kChangesMax = 1000;

std::map<std::string, RowChange> ByName(const std::vector<RowChange>& rows) {
  std::map<std::string, RowChange> by_name;
  for (const RowChange& row : rows) by_name.emplace(NameOfRow(row), row);
  return by_name;
}

// What a list of changes makes of the rows that there are.
struct RowComparison {
  std::vector<RowDifference> differences;
  std::vector<RowChange> changes;  // of these alone, what goes last
};

void Compare(const std::map<std::string, RowChange>& now, const RowChange& change, RowComparison* out) {
  const std::string name = NameOfRow(change);
  const auto known = now.find(name);
  Json before = known == now.end() ? Json() : RowJson(known->second);
  Json after = change.remove() ? Json() : RowJson(change);
  // A row that goes and is not there is the scheduler's to refuse.
  if (before == after && !change.remove()) return;
  out->differences.push_back({name, std::move(before), std::move(after)});
  out->changes.push_back(change);
}

Result<RowComparison> CompareWithFile(CommandContext& context, RowKind kind, const RowOptions& options) {
  const auto text = ReadFile(options.file, kFileBytesMax);
  if (!text.ok()) return text.status();
  const auto file = ReadRowFile(*text, options.file == "-" ? "standard input" : options.file);
  if (!file.ok()) return file.status();
  if (!file->counts.contains(kind)) {
    return UsageError(fmt::format("{} has no section {}", Shown(options.file), SectionOf(kind)),
                      fmt::format("'glim admin {} get' prints such a file", WordOf(kind)));
  }
  for (const auto& [other, count] : file->counts) {
    if (other == kind) continue;
    context.output.Note(fmt::format("{}: {} of the file's rows are not looked at here: glim admin {} diff --file {}",
                                    SectionOf(other), count, WordOf(other), options.file));
  }
  const auto rows = RowsNow(context, kind);
  if (!rows.ok()) return rows.status();
  const std::map<std::string, RowChange> now = ByName(*rows);
  RowComparison comparison;
  std::set<std::string> named;
  for (const RowChange& row : file->rows) {
    if (row.row_case() != kind) continue;
    named.insert(NameOfRow(row));
    Compare(now, row, &comparison);
  }
  std::size_t stay = 0;
  for (const auto& [name, row] : now) {
    if (named.contains(name)) continue;
    if (!options.prune) {
      ++stay;
      continue;
    }
    RowChange gone = row;
    gone.set_remove(true);
    Compare(now, gone, &comparison);
  }
  if (stay > 0) {
    context.output.Note(fmt::format("{} not in the file, and {}: --prune would remove {}",
                                    stay == 1 ? "1 row is" : fmt::format("{} rows are", stay),
                                    stay == 1 ? "stays" : "stay", stay == 1 ? "it" : "them"));
  }
  return comparison;
}

Status Apply(CommandContext& context, const RowComparison& comparison, const ChangeOptions& options) {
  if (comparison.changes.size() > kChangesMax) {
    return UsageError(
        fmt::format("{} rows differ, at most {} are changed at a time", comparison.changes.size(), kChangesMax),
        "split the file");
  }
  glim::v1::ChangeRowsRequest request;
  request.set_dry_run(true);
  for (const RowChange& change : comparison.changes) *request.add_changes() = change;
  glim::v1::ChangeRowsResponse answer;
  if (request.changes_size() > 0) {
    const auto asked = context.client.Call(&LayoutApi::Stub::ChangeRows, request);
    if (!asked.ok()) return asked.status();
    answer = *asked;
  }
  const std::string meaning = answer.meaning().empty() ? "" : Escaped(answer.meaning()) + "\n";
  const std::string what = DifferencesText(comparison.differences, context.output.colour()) + meaning;
  const bool changes = request.changes_size() > 0 && !options.dry_run;
  if (changes) {
    const Status sure = Confirm(context, options, what, fmt::format("change {} rows?", request.changes_size()));
    if (!sure.ok()) return sure;
    request.set_dry_run(false);
    const auto done = context.client.Call(&LayoutApi::Stub::ChangeRows, request);
    if (!done.ok()) return done.status();
  }
  if (context.output.json()) {
    Json document = NewDocument();
    document["changed"] = changes;
    document["rows"] = DifferencesJson(comparison.differences);
    document["meaning"] = answer.meaning();
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  if (options.dry_run || options.yes) context.output.Data(what);
  if (!changes) context.output.Note(request.changes_size() == 0 ? "nothing differs" : "nothing was changed");
  return Status::Ok();
}

Status RunGet(CommandContext& context, RowKind kind, const RowOptions& options) {
  const auto rows = RowsNow(context, kind);
  if (!rows.ok()) return rows.status();
  std::vector<RowChange> chosen;
  std::set<std::string> missing(options.names.begin(), options.names.end());
  // A link is named by two words.
  const bool link = kind == RowChange::kLink && !options.names.empty();
  if (link) {
    if (options.names.size() != 2) return UsageError("a link has two zones", "glim admin link get A B");
    missing = {std::min(options.names[0], options.names[1]) + "-" + std::max(options.names[0], options.names[1])};
  }
  for (const RowChange& row : *rows) {
    const std::string word = std::string(WordOf(kind)) + " ";
    const std::string name =
        kind == RowChange::kQuota ? SubjectOfQuota(row.quota()) : NameOfRow(row).substr(word.size());
    const bool asked = options.names.empty() || missing.contains(name) ||
                       std::find(options.names.begin(), options.names.end(), name) != options.names.end();
    if (asked) chosen.push_back(row);
    missing.erase(name);
  }
  if (!missing.empty()) {
    return Status(StatusCode::kNotFound,
                  fmt::format("{}: there is no row of {} '{}'", WordOf(kind), WordOf(kind), Shown(*missing.begin())))
        .WithReason("NO_SUCH_ROW")
        .WithField(WordOf(kind))
        .WithFix(fmt::format("'glim admin {} get' prints all of them", WordOf(kind)));
  }
  if (context.output.json()) {
    Json document = NewDocument();
    Json& list = document[SectionOf(kind)] = Json::array();
    for (const RowChange& row : chosen) list.push_back(RowJson(row));
    context.output.Data(DumpJson(document));
  } else {
    context.output.Data(RowsYaml(SectionOf(kind), chosen));
  }
  return Status::Ok();
}

Status RunDiff(CommandContext& context, RowKind kind, const RowOptions& options) {
  const auto comparison = CompareWithFile(context, kind, options);
  if (!comparison.ok()) return comparison.status();
  const std::size_t differ = comparison->differences.size();
  if (context.output.json()) {
    Json document = NewDocument();
    document["rows"] = DifferencesJson(comparison->differences);
    context.output.Data(DumpJson(document));
  } else if (differ > 0) {
    context.output.Data(DifferencesText(comparison->differences, context.output.colour()));
  }
  if (differ == 0) {
    context.output.Note("nothing differs");
    return Status::Ok();
  }
  return Status(StatusCode::kUnknown, fmt::format("{} of the {} differ", differ, SectionOf(kind)))
      .WithReason("DIFFERENT");
}

template <typename Rows, typename Put>
void AddRows(const Rows& rows, std::vector<RowChange>* out, Put put) {
  for (const auto& row : rows) put(&out->emplace_back(), row);
}

Result<std::vector<RowChange>> LayoutRowsNow(CommandContext& context, RowKind kind) {
  const auto layout = context.client.Call(&LayoutApi::Stub::ListLayout, glim::v1::ListLayoutRequest());
  if (!layout.ok()) return layout.status();
  std::vector<RowChange> rows;
  if (kind == RowChange::kLink) {
    AddRows(layout->links(), &rows, [](RowChange* out, const auto& row) { *out->mutable_link() = row; });
    return rows;
  }
  for (const auto& pool : layout->pools()) {
    if (kind == RowChange::kPool && pool.has_row()) *rows.emplace_back().mutable_pool() = pool;
  }
  for (const auto& zone : layout->zones()) {
    if (kind == RowChange::kZone && zone.has_row()) *rows.emplace_back().mutable_zone() = zone;
  }
  return rows;
}

}  // namespace

Result<std::vector<RowChange>> RowsNow(CommandContext& context, RowKind kind) {
  const bool layout = kind == RowChange::kPool || kind == RowChange::kZone || kind == RowChange::kLink;
  if (layout) return LayoutRowsNow(context, kind);
  const auto known = context.client.Call(&glim::v1::AdminApi::Stub::ListAccounts, glim::v1::ListAccountsRequest());
  if (!known.ok()) return known.status();
  std::vector<RowChange> rows;
  if (kind == RowChange::kUser) {
    AddRows(known->users(), &rows, [](RowChange* out, const auto& row) { *out->mutable_user() = row; });
  } else if (kind == RowChange::kTeam) {
    AddRows(known->teams(), &rows, [](RowChange* out, const auto& row) { *out->mutable_team() = row; });
  } else {
    AddRows(known->quotas(), &rows, [](RowChange* out, const auto& row) { *out->mutable_quota() = row; });
  }
  return rows;
}

Status ChangeRows(CommandContext& context, RowKind kind, const std::vector<RowChange>& changes,
                  const ChangeOptions& options) {
  const auto rows = RowsNow(context, kind);
  if (!rows.ok()) return rows.status();
  const std::map<std::string, RowChange> now = ByName(*rows);
  RowComparison comparison;
  for (const RowChange& change : changes) Compare(now, change, &comparison);
  return Apply(context, comparison, options);
}

Status CheckOneOrFile(RowKind kind, bool one, bool part, const RowOptions& options, const std::string& words) {
  const std::string example = fmt::format("glim admin {} set {}", WordOf(kind), words);
  if (part) return UsageError(fmt::format("a word of the {} is missing", WordOf(kind)), example);
  if (one == !options.file.empty()) {
    return UsageError(fmt::format("give a {}, or --file", WordOf(kind)),
                      fmt::format("{}; glim admin {} set --file {}.yaml", example, WordOf(kind), SectionOf(kind)));
  }
  return one && options.prune ? UsageError("--prune goes with --file") : Status::Ok();
}

Status RunSetFile(CommandContext& context, RowKind kind, const RowOptions& options) {
  const auto comparison = CompareWithFile(context, kind, options);
  if (!comparison.ok()) return comparison.status();
  return Apply(context, *comparison, options.change);
}

void AddFileOptions(Syntax set, const RowOptionsPtr& options) {
  set.Option("--file", &options->file, "rows as 'get' prints them; -: standard input");
  set.Flag("--prune", &options->prune, "with --file: remove the rows that are not in it");
  set.Flag("-y,--yes", &options->change.yes, "do not ask");
  set.Flag("--dry-run", &options->change.dry_run, "show what would change, and change nothing");
}

void AddGetAndDiff(Syntax group, Selection* selection, RowKind kind, const std::string& example_name) {
  const auto options = std::make_shared<RowOptions>();
  const std::string sections = SectionOf(kind);
  Syntax get = group.AddCommand("get", "Print " + sections + " as a file that 'set --file' reads");
  get.ParsedOptions(
      kind == RowChange::kLink    ? "ZONE"
      : kind == RowChange::kQuota ? "SUBJECT"
                                  : "NAME",
      "these alone",
      [options](const std::string& word) {
        options->names.push_back(word);
        return std::string();
      },
      Presence::kOptional);
  get.OnChosen([=] { selection->run = [=](CommandContext& context) { return RunGet(context, kind, *options); }; });
  get.Example(fmt::format("glim admin {} get {}", WordOf(kind), example_name));

  Syntax diff = group.AddCommand("diff", "Show what a file would change: 0 nothing, 1 something");
  diff.Option("--file", &options->file, "rows as 'get' prints them; -: standard input", Presence::kRequired);
  diff.Flag("--prune", &options->prune, "also the rows that are not in it, which would go");
  diff.OnChosen([=] { selection->run = [=](CommandContext& context) { return RunDiff(context, kind, *options); }; });
  diff.Example(fmt::format("glim admin {} diff --file {}.yaml", WordOf(kind), sections));
}

}  // namespace glim::cli
