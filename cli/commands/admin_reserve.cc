// glim admin reserve set, rm and ls: nodes for a team, or for nobody, from when to when.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/commands/account_change.h"
#include "cli/commands/admin_operate.h"
#include "cli/commands/command.h"
#include "cli/commands/moment_option.h"
#include "cli/commands/tried_change.h"
#include "cli/text/render_json.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "cli/views/reserve_view.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

using glim::v1::ReserveApi;

struct ReserveOptions {
  std::string name;
  std::optional<std::string> team, pool, node_names;
  std::optional<std::int64_t> share;
  bool from_now = false;
  std::optional<TimePoint> from, until;
  Duration lasts;
  ChangeOptions change;
};
constexpr Duration kSoon = Seconds(2);
constexpr std::int64_t kShareMax = 10'000'000;

using ReserveOptionsPtr = std::shared_ptr<ReserveOptions>;

// Which nodes: a share of a pool or nodes by name; neither is said of one that is there: they stay.
Status FillNodes(const ReserveOptions& options, glim::v1::Reservation* row) {
  if (options.node_names && (options.share || options.pool)) {
    return InvalidArgument(options.share ? "--nodes" : "--pool", "is of a share of a pool, and --node names nodes",
                           "say --pool POOL --nodes 4, or --node n1,n2");
  }
  if (options.node_names) {
    row->clear_pool();
    row->clear_share();
    row->clear_node_names();
    for (const std::string& name : WordsOf(*options.node_names)) row->add_node_names(name);
    if (row->node_names().empty()) return InvalidArgument("--node", "names no node", "say --node n1,n2");
    return Status::Ok();
  }
  if (options.share || options.pool) row->clear_node_names();
  if (options.share) row->set_share(static_cast<std::uint32_t>(*options.share));
  if (options.pool) row->set_pool(*options.pool);
  if (row->share() == 0 && row->node_names().empty()) {
    return InvalidArgument("--nodes", "is neither a number of nodes of a pool nor names of nodes",
                           "say --pool POOL --nodes 4, or --node n1,n2");
  }
  if (row->share() > 0 && row->pool().empty()) {
    return InvalidArgument("--pool", "is missing", "say of which pool the nodes are to be; glim nodes lists them");
  }
  return Status::Ok();
}

// From when to when; of one that is there what is not said stays.
Status FillTimes(const ReserveOptions& options, bool there, glim::v1::Reservation* row) {
  const bool both = options.until && options.lasts.ms > 0;
  const bool neither = !options.until && options.lasts.ms == 0;
  if (both || (neither && !there)) {
    return InvalidArgument("--for", "neither --for nor --until is given, or both", "say one of the two");
  }
  if (options.from) row->set_begins_at_ms(options.from->ms);
  if (options.from_now) row->set_begins_at_ms(Now().ms);
  const TimePoint begin = row->begins_at_ms() > 0 ? TimePoint{row->begins_at_ms()} : Now();
  if (options.until) row->set_ends_at_ms(options.until->ms);
  if (options.lasts.ms > 0) row->set_ends_at_ms((begin + options.lasts).ms);
  // By the scheduler's clock; it takes none for as it was.
  if (options.from_now) row->set_begins_at_ms(there ? (Now() + kSoon).ms : 0);
  return Status::Ok();
}

// The reservation of that name as it is, with what was said of it changed; or a new one.
Result<glim::v1::Reservation> ReservationFrom(CommandContext& context, const ReserveOptions& options) {
  const auto list = context.client.Call(&ReserveApi::Stub::ListReservations, glim::v1::ListReservationsRequest());
  if (!list.ok()) return list.status();
  const auto& rows = list->reservations();
  const auto known =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name() == options.name; });
  const bool there = known != rows.end();
  glim::v1::Reservation row;
  if (there) row = *known;
  row.set_name(options.name);
  row.clear_made_by();
  row.clear_made_at_ms();
  row.clear_state();
  row.clear_nodes();
  if (options.team) row.set_team(*options.team);
  if (!options.change.reason.empty()) row.set_reason(options.change.reason);
  if (row.reason().empty()) {
    return InvalidArgument("--reason", "is missing", "say why, for those who ask for the nodes");
  }
  if (Status nodes = FillNodes(options, &row); !nodes.ok()) return nodes;
  if (Status times = FillTimes(options, there, &row); !times.ok()) return times;
  return row;
}

Status RunReserveSet(CommandContext& context, const ReserveOptions& options) {
  const Result<glim::v1::Reservation> row = ReservationFrom(context, options);
  if (!row.ok()) return row.status();
  glim::v1::SetReservationRequest request;
  *request.mutable_reservation() = *row;
  using Answer = glim::v1::SetReservationResponse;
  return MakeAsTried(
      context, options.change, request, &ReserveApi::Stub::SetReservation,
      [&](const Answer& answer) { return ReservationChangeText(answer, context.output.colour()); },
      [&](const Answer& answer) {
        return fmt::format("{} reservation {}?", answer.has_before() ? "change" : "make", options.name);
      });
}

Status RunReserveRemove(CommandContext& context, const ReserveOptions& options) {
  glim::v1::RemoveReservationRequest request;
  request.set_name(options.name);
  const auto question = [&](const auto&) { return fmt::format("take reservation {} back?", options.name); };
  return MakeAsTried(context, options.change, request, &ReserveApi::Stub::RemoveReservation, ReservationRemovedText,
                     question);
}

Status RunReserveList(CommandContext& context, const ReserveOptions&) {
  const auto list = context.client.Call(&ReserveApi::Stub::ListReservations, glim::v1::ListReservationsRequest());
  if (!list.ok()) return list.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document.update(MessageJson(*list));
    context.output.Data(DumpJson(document));
  } else {
    context.output.Data(ReservationTable(*list, context.output.colour()));
  }
  return Status::Ok();
}

using ReserveRun = Status (*)(CommandContext&, const ReserveOptions&);

Syntax AddReserveCommand(Syntax group, Selection* selection, const ReserveOptionsPtr& options, const char* name,
                         const char* help, ReserveRun run) {
  Syntax command = group.AddCommand(name, help);
  command.OnChosen([=] { selection->run = [=](CommandContext& context) { return run(context, *options); }; });
  return command;
}

}  // namespace

void AddAdminReserve(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<ReserveOptions>();
  Syntax reserve = admin.AddGroup("reserve", "Nodes for a team, or for nobody (maintenance), from when to when");

  Syntax set =
      AddReserveCommand(reserve, selection, options, "set", "Make a reservation, or change one", RunReserveSet);
  set.Option("NAME", &options->name, "what it is called", Presence::kRequired);
  set.Option("--team", &options->team, "whose jobs may be there; not given: nobody's, or as it was");
  set.Option("--pool", &options->pool, "the pool that --nodes are of");
  set.ParsedOption(
      "--nodes", "so many nodes of the pool: those that cost least to free",
      [options](const std::string& word) { return ReadWhole(word, 1, kShareMax, &options->share.emplace()); });
  set.Option("--node", &options->node_names, "these very nodes: n1,n2");
  set.ParsedOption("--from", "when it begins: 'in 2h', 2026-12-01T08:00Z, now; not given: now, or as it was",
                   [options](const std::string& word) {
                     options->from_now = word == "now";
                     return options->from_now ? std::string() : IntoComingMoment(&options->from)(word);
                   });
  set.ParsedOption("--until", "when it ends: 'in 6h', 2026-12-01T12:00Z", IntoComingMoment(&options->until));
  AddDurationOption(set, "--for", &options->lasts, "how long it lasts, instead of --until");
  AddChangeOptions(set, &options->change, Presence::kOptional);
  set.Example(
      "glim admin reserve set release --team vision --pool default --nodes 4 --from 2026-12-01T08:00Z --for 4h "
      "--reason 'a deadline'");
  set.Example("glim admin reserve set firmware --node n1,n2 --from 'in 2h' --for 1h --reason 'new firmware' --dry-run");

  Syntax remove = AddReserveCommand(reserve, selection, options, "rm", "Take a reservation back", RunReserveRemove);
  remove.Option("NAME", &options->name, "the reservation's name", Presence::kRequired);
  AddAskOptions(remove, &options->change);
  remove.Example("glim admin reserve rm release");

  Syntax list =
      AddReserveCommand(reserve, selection, options, "ls", "List the reservations, the earliest first", RunReserveList);
  list.Example("glim admin reserve ls");
}

}  // namespace glim::cli
