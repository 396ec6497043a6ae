#include "cli/commands/row_change.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/text/errors.h"
#include "cli/text/file.h"
#include "cli/text/text.h"
#include "cli/views/row_view.h"

namespace glim::cli {
namespace {

using glim::v1::ChangeRowsRequest;
using glim::v1::LayoutApi;
using glim::v1::RowChange;

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;
constexpr std::size_t kChangesMax = 1000;
constexpr std::string_view kPlaceBegin = "changes[";
constexpr std::string_view kPlaceEnd = "]: ";

std::map<std::string, RowChange> ByName(const std::vector<RowChange>& rows) {
  std::map<std::string, RowChange> by_name;
  for (const RowChange& row : rows) by_name.emplace(NameOfRow(row), row);
  return by_name;
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

// What a list of changes makes of the rows that there are.
struct RowComparison {
  std::vector<RowDifference> differences;
  std::vector<RowChange> changes;   // of these alone, what goes last
  std::vector<std::string> places;  // "rows.yaml:3:5: teams[0]" of each of these, or the name of the row
  std::size_t removals = 0;
};

void Compare(const std::map<std::string, RowChange>& now, const RowChange& change, const std::string& place,
             RowComparison* out) {
  const std::string name = NameOfRow(change);
  const auto known = now.find(name);
  Json before = known == now.end() ? Json() : RowJson(known->second);
  Json after = change.remove() ? Json() : RowJson(change);
  // A row that goes and is not there is the scheduler's to refuse.
  if (before == after && !change.remove()) return;
  out->differences.push_back({name, std::move(before), std::move(after)});
  out->changes.push_back(change);
  out->places.push_back(place.empty() ? name : place);
  out->removals += change.remove() ? 1 : 0;
}

Result<RowFile> ReadRowsOf(CommandContext& context, RowKind kind, const std::string& path, const std::string& source) {
  const auto text = ReadFile(path, kFileBytesMax);
  if (!text.ok()) return text.status();
  auto file = ReadRowFile(*text, source);
  if (!file.ok()) return file.status();
  if (!file->counts.contains(kind)) {
    return UsageError(fmt::format("{} has no section {}", Shown(path), SectionOf(kind)),
                      fmt::format("'glim admin {} get' prints such a file", WordOf(kind)));
  }
  for (const auto& [other, count] : file->counts) {
    if (other == kind) continue;
    context.output.Note(fmt::format("{}: {} of the file's rows are not looked at here: glim admin {} diff --file {}",
                                    SectionOf(other), count, WordOf(other), path));
  }
  return file;
}

Result<RowComparison> CompareWithFile(CommandContext& context, RowKind kind, const RowOptions& options) {
  const std::string source = options.file == "-" ? "standard input" : options.file;
  const auto file = ReadRowsOf(context, kind, options.file, source);
  if (!file.ok()) return file.status();
  const auto rows = RowsNow(context, kind);
  if (!rows.ok()) return rows.status();
  const std::map<std::string, RowChange> now = ByName(*rows);
  RowComparison comparison;
  std::set<std::string> named;
  for (std::size_t i = 0; i < file->rows.size(); ++i) {
    const RowChange& row = file->rows[i];
    if (row.row_case() != kind) continue;
    named.insert(NameOfRow(row));
    const RowPlace& place = file->places[i];
    Compare(now, row, fmt::format("{}:{}:{}: {}", source, place.mark.line, place.mark.column, place.path), &comparison);
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
    Compare(now, gone, "", &comparison);
  }
  if (stay > 0) {
    context.output.Note(fmt::format("{} not in the file, and {}: --prune would remove {}",
                                    stay == 1 ? "1 row is" : fmt::format("{} rows are", stay),
                                    stay == 1 ? "stays" : "stay", stay == 1 ? "it" : "them"));
  }
  return comparison;
}

// The scheduler names a row by its place among those that differ ("changes[3]: ..."); people know the file.
Status AtPlace(const RowComparison& comparison, const Status& refusal) {
  const bool of_row = refusal.code() == StatusCode::kInvalidArgument || refusal.code() == StatusCode::kNotFound ||
                      refusal.code() == StatusCode::kFailedPrecondition || refusal.code() == StatusCode::kAlreadyExists;
  if (!of_row) return refusal;
  std::size_t index = 0;
  std::string words = refusal.message();
  if (words.starts_with(kPlaceBegin)) {
    const char* const begin = words.data() + kPlaceBegin.size();
    const auto [rest, error] = std::from_chars(begin, words.data() + words.size(), index);
    const std::string_view behind(rest, static_cast<std::size_t>(words.data() + words.size() - rest));
    if (error != std::errc() || !behind.starts_with(kPlaceEnd)) return refusal;
    words = std::string(behind.substr(kPlaceEnd.size()));
  } else if (comparison.changes.size() != 1) {
    return refusal;
  }
  if (index >= comparison.places.size()) return refusal;
  return Status(refusal.code(), comparison.places[index] + ": " + words)
      .WithReason(refusal.reason())
      .WithField(refusal.field())
      .WithFix(refusal.fix());
}

Status CheckCount(const RowComparison& comparison, RowKind kind) {
  if (comparison.changes.size() <= kChangesMax) return Status::Ok();
  return UsageError(
      fmt::format("{} rows differ, at most {} are changed at a time", comparison.changes.size(), kChangesMax),
      comparison.removals == 0
          ? "split the file"
          : fmt::format("remove in steps of at most {0}: for each, leave the others in the file, as 'glim admin {1} "
                        "get' prints them; what is to be added, before that and without --prune",
                        kChangesMax, WordOf(kind)));
}

ChangeRowsRequest QuestionOf(const RowComparison& comparison) {
  ChangeRowsRequest request;
  request.set_dry_run(true);
  for (const RowChange& change : comparison.changes) *request.add_changes() = change;
  return request;
}

Status Apply(CommandContext& context, const RowComparison& comparison, const ChangeOptions& options,
             const std::string& also) {
  ChangeRowsRequest request = QuestionOf(comparison);
  glim::v1::ChangeRowsResponse answer;
  if (request.changes_size() > 0) {
    const auto asked = context.client.Call(&LayoutApi::Stub::ChangeRows, request);
    if (!asked.ok()) return AtPlace(comparison, asked.status());
    answer = *asked;
    request.set_expect(answer.state());  // what was shown is what is done
  }
  if (!also.empty() && request.changes_size() > 0)
    answer.set_meaning(answer.meaning() + (answer.meaning().empty() ? "" : "; ") + also);
  const std::string meaning = answer.meaning().empty() ? "" : Escaped(answer.meaning()) + "\n";
  const std::string what = DifferencesText(comparison.differences, context.output.colour()) + meaning;
  const bool changes = request.changes_size() > 0 && !options.dry_run;
  if (changes) {
    const Status sure = Confirm(
        context, options, what,
        request.changes_size() == 1 ? "change this row?" : fmt::format("change {} rows?", request.changes_size()));
    if (!sure.ok()) return sure;
    request.set_dry_run(false);
    const auto done = context.client.Call(&LayoutApi::Stub::ChangeRows, request);
    if (!done.ok()) return AtPlace(comparison, done.status());
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

// Whether the scheduler would take what differs. Who may not ask that is told the difference all the same.
Status Try(CommandContext& context, const RowComparison& comparison) {
  if (comparison.changes.empty() || comparison.changes.size() > kChangesMax) return Status::Ok();
  const auto asked = context.client.Call(&LayoutApi::Stub::ChangeRows, QuestionOf(comparison));
  if (asked.ok()) return Status::Ok();
  if (asked.status().code() != StatusCode::kPermissionDenied) return AtPlace(comparison, asked.status());
  context.output.Note("whether the scheduler would take it was not asked: " + asked.status().message());
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
  if (Status may = Try(context, *comparison); !may.ok()) return may;
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

}  // namespace

Result<RowChange> RowToChange(CommandContext& context, const RowChange& fresh) {
  const auto rows = RowsNow(context, fresh.row_case());
  if (!rows.ok()) return rows.status();
  for (const RowChange& row : *rows) {
    if (NameOfRow(row) == NameOfRow(fresh)) return row;
  }
  return fresh;
}

Status ChangeRow(CommandContext& context, const RowChange& change, const ChangeOptions& options,
                 const std::string& also) {
  const auto rows = RowsNow(context, change.row_case());
  if (!rows.ok()) return rows.status();
  RowComparison comparison;
  Compare(ByName(*rows), change, "", &comparison);
  return Apply(context, comparison, options, also);
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
  if (Status count = CheckCount(*comparison, kind); !count.ok()) return count;
  return Apply(context, *comparison, options.change, "");
}

void AddFileOptions(Syntax set, const RowOptionsPtr& options) {
  set.Option("--file", &options->file, "rows as 'get' prints them; -: standard input");
  set.Flag("--prune", &options->prune, "with --file: remove the rows that are not in it");
  AddAskOptions(set, &options->change);
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
