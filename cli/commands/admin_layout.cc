#include "cli/commands/admin_layout.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/account_change.h"
#include "cli/commands/row_change.h"
#include "cli/text/errors.h"
#include "cli/text/render_json.h"
#include "cli/views/row_view.h"

namespace glim::cli {
namespace {

using glim::v1::ListLayoutResponse;
using glim::v1::RowChange;

constexpr std::int64_t kLinkAmountMax = 1000;

struct LayoutOptions {
  std::string name;
  std::optional<std::string> note;
  std::string zone_a, zone_b;
  std::optional<std::int64_t> jobs_max, pairs_max;
};
using LayoutOptionsPtr = std::shared_ptr<LayoutOptions>;

using LayoutTable = std::string (*)(const ListLayoutResponse&, bool colour);

Status RunList(CommandContext& context, RowKind kind, const char* none, LayoutTable table) {
  const auto layout = context.client.Call(&glim::v1::LayoutApi::Stub::ListLayout, glim::v1::ListLayoutRequest());
  if (!layout.ok()) return layout.status();
  if (context.output.json()) {
    const Json all = MessageJson(*layout);
    const std::string key = SectionOf(kind);
    Json document = NewDocument();
    document[key] = all.contains(key) ? all[key] : Json::array();
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  const int rows = kind == RowChange::kPool   ? layout->pools_size()
                   : kind == RowChange::kZone ? layout->zones_size()
                                              : layout->links_size();
  if (rows == 0) {
    context.output.Note(none);
  } else {
    context.output.Data(table(*layout, context.output.colour()));
  }
  return Status::Ok();
}

RowChange FreshRow(RowKind kind, const LayoutOptions& options) {
  RowChange row;
  if (kind == RowChange::kPool) row.mutable_pool()->set_name(options.name);
  if (kind == RowChange::kZone) row.mutable_zone()->set_name(options.name);
  if (kind == RowChange::kLink) {
    row.mutable_link()->set_zone_a(std::min(options.zone_a, options.zone_b));
    row.mutable_link()->set_zone_b(std::max(options.zone_a, options.zone_b));
    row.mutable_link()->set_jobs_max(1);
    row.mutable_link()->set_pairs_max(1);
  }
  return row;
}

// Of a row or of a file, and one of them.
Status RunSet(CommandContext& context, RowKind kind, const LayoutOptions& options, const RowOptions& of_file) {
  const bool link = kind == RowChange::kLink;
  const bool named = link ? !options.zone_b.empty() : !options.name.empty();
  const char* const words = link ? "A B --jobs-max 2 --pairs-max 2" : "a100 --note 'the racks of spring'";
  const bool part = link && !named && !options.zone_a.empty();
  if (Status clear = CheckOneOrFile(kind, named, part, of_file, words); !clear.ok()) return clear;
  if (!named) return RunSetFile(context, kind, of_file);
  auto row = RowToChange(context, FreshRow(kind, options));
  if (!row.ok()) return row.status();
  if (options.note && kind == RowChange::kPool) row->mutable_pool()->set_note(*options.note);
  if (options.note && kind == RowChange::kZone) row->mutable_zone()->set_note(*options.note);
  if (options.jobs_max) row->mutable_link()->set_jobs_max(static_cast<std::uint32_t>(*options.jobs_max));
  if (options.pairs_max) row->mutable_link()->set_pairs_max(static_cast<std::uint32_t>(*options.pairs_max));
  return ChangeRow(context, *row, of_file.change);
}

Status RunRemove(CommandContext& context, RowKind kind, const LayoutOptions& options, const RowOptions& of_file) {
  RowChange row = FreshRow(kind, options);
  row.set_remove(true);
  return ChangeRow(context, row, of_file.change);
}

void AddNames(Syntax command, RowKind kind, const LayoutOptionsPtr& options, Presence presence) {
  if (kind == RowChange::kLink) {
    command.Option("A", &options->zone_a, "one zone", presence);
    command.Option("B", &options->zone_b, "the other zone, in either order", presence);
  } else {
    command.Option("NAME", &options->name, fmt::format("the {}'s name", WordOf(kind)), presence);
  }
}

void AddSetOptions(Syntax set, RowKind kind, const LayoutOptionsPtr& options) {
  if (kind != RowChange::kLink) {
    set.Option("--note", &options->note, "for people; '': none");
    return;
  }
  const auto amount = [options](std::optional<std::int64_t> LayoutOptions::*target) {
    return [options, target](const std::string& word) {
      return ReadWhole(word, 0, kLinkAmountMax, &((*options).*target).emplace());
    };
  };
  set.ParsedOption("--jobs-max", "jobs that span both zones at a time (1); 0: none", amount(&LayoutOptions::jobs_max));
  set.ParsedOption("--pairs-max", "pairs of nodes that talk across, in all (1)", amount(&LayoutOptions::pairs_max));
}

struct GroupWords {
  const char* help;
  const char* none;
  const char* example;      // names of a row
  const char* example_set;  // and its options
};

void AddGroupOf(Syntax admin, Selection* selection, RowKind kind, const GroupWords& words, LayoutTable table) {
  const auto options = std::make_shared<LayoutOptions>();
  const auto of_file = std::make_shared<RowOptions>();
  const std::string word = WordOf(kind);
  Syntax group = admin.AddGroup(word, words.help);
  Syntax list = group.AddCommand("ls", "List the " + SectionOf(kind));
  list.Alias("list");
  const char* const none = words.none;
  list.OnChosen([=] { selection->run = [=](CommandContext& context) { return RunList(context, kind, none, table); }; });
  list.Example("glim admin " + word + " ls");
  AddGetAndDiff(group, selection, kind, words.example);

  Syntax set = group.AddCommand("set", fmt::format("Add a {}, or change what is given; or all of a file", word));
  AddNames(set, kind, options, Presence::kOptional);
  AddSetOptions(set, kind, options);
  AddFileOptions(set, of_file);
  set.OnChosen(
      [=] { selection->run = [=](CommandContext& context) { return RunSet(context, kind, *options, *of_file); }; });
  set.Example("glim admin " + word + " set " + words.example_set);

  Syntax remove = group.AddCommand("rm", fmt::format("Remove a {} that nobody refers to", word));
  remove.Alias("remove");
  AddNames(remove, kind, options, Presence::kRequired);
  AddAskOptions(remove, &of_file->change);
  remove.OnChosen(
      [=] { selection->run = [=](CommandContext& context) { return RunRemove(context, kind, *options, *of_file); }; });
  remove.Example("glim admin " + word + " rm " + words.example);
}

}  // namespace

void AddAdminLayout(Syntax admin, Selection* selection) {
  AddGroupOf(admin, selection, RowChange::kPool,
             {"Pools: nodes of one kind, which jobs name", "there are no pools yet", "a100",
              "a100 --note 'the racks of spring'"},
             PoolsTable);
  AddGroupOf(
      admin, selection, RowChange::kZone,
      {"Zones: fabrics, whose nodes reach each other well", "there are no zones yet", "A", "C --note 'from June on'"},
      ZonesTable);
  AddGroupOf(admin, selection, RowChange::kLink,
             {"Links between zones: how many jobs may span two of them",
              "there are no links: one job, one pair between any two zones", "A B", "A B --jobs-max 2 --pairs-max 2"},
             LinksTable);
}

}  // namespace glim::cli
