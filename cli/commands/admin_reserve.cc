// glim admin reserve set, rm and ls: nodes for a team, or for nobody, from when to when.
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "cli/commands/admin_operate.h"
#include "cli/commands/command.h"
#include "cli/commands/confirm.h"
#include "cli/text/render_json.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "cli/views/reserve_view.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

using glim::v1::ReserveApi;

struct ReserveOptions {
  std::string name, team, pool, node_names;
  std::uint32_t share = 0;
  std::optional<TimePoint> from, until;
  Duration lasts;
  ChangeOptions change;
};
using ReserveOptionsPtr = std::shared_ptr<ReserveOptions>;

// "in 2h", "2h", "now" and "2026-12-01T08:00Z".
WordCheck IntoComingMoment(std::optional<TimePoint>* target) {
  return [target](const std::string& word) -> std::string {
    const std::string span = word.starts_with("in ") ? word.substr(3) : word;
    if (word == "now") {
      *target = std::nullopt;
    } else if (const auto ahead = ParseDuration(span)) {
      *target = Now() + *ahead;
    } else if (const auto moment = ParseMoment(word)) {
      *target = *moment;
    } else {
      return "'" + word + "' is no moment; write it like 'in 2h' or 2026-12-01T08:00Z";
    }
    return "";
  };
}

Result<glim::v1::Reservation> ReservationFrom(const ReserveOptions& options) {
  glim::v1::Reservation row;
  row.set_name(options.name);
  row.set_team(options.team);
  row.set_pool(options.pool);
  row.set_share(options.share);
  std::stringstream names(options.node_names);
  for (std::string name; std::getline(names, name, ',');) {
    if (!name.empty()) row.add_node_names(name);
  }
  if (row.node_names().empty() == (row.share() == 0)) {
    return InvalidArgument("--nodes", "is neither a number of nodes of a pool nor names of nodes, or both",
                           "say --pool POOL --nodes 4, or --node n1,n2");
  }
  if (row.share() > 0 && row.pool().empty()) {
    return InvalidArgument("--pool", "is missing", "say of which pool the nodes are to be; glim nodes lists them");
  }
  if (options.until.has_value() == (options.lasts.ms > 0)) {
    return InvalidArgument("--for", "neither --for nor --until is given, or both", "say one of the two");
  }
  row.set_begins_at_ms(options.from ? options.from->ms : 0);
  row.set_ends_at_ms(options.until ? options.until->ms : (options.from.value_or(Now()) + options.lasts).ms);
  row.set_reason(options.change.reason);
  return row;
}

template <typename Response>
void Answer(CommandContext& context, const ChangeOptions& change, const Response& answer, const std::string& what) {
  if (context.output.json()) {
    Json document = NewDocument();
    document["changed"] = !change.dry_run;
    document.update(MessageJson(answer));
    context.output.Data(DumpJson(document));
    return;
  }
  if (change.dry_run || change.yes) context.output.Data(what);
  if (change.dry_run) context.output.Note("nothing was changed");
}

// Asks what would come of it, shows that and asks the operator, and does it.
Status RunReserveSet(CommandContext& context, const ReserveOptions& options) {
  const Result<glim::v1::Reservation> row = ReservationFrom(options);
  if (!row.ok()) return row.status();
  glim::v1::SetReservationRequest request;
  *request.mutable_reservation() = *row;
  request.set_dry_run(true);
  auto answer = context.client.Call(&ReserveApi::Stub::SetReservation, request);
  if (!answer.ok()) return answer.status();
  const std::string what = ReservationChangeText(*answer, context.output.colour());
  if (!options.change.dry_run) {
    const char* const verb = answer->has_before() ? "change" : "make";
    const Status sure = Confirm(context, options.change, what, fmt::format("{} reservation {}?", verb, options.name));
    if (!sure.ok()) return sure;
    request.set_dry_run(false);
    answer = context.client.Call(&ReserveApi::Stub::SetReservation, request);
    if (!answer.ok()) return answer.status();
  }
  Answer(context, options.change, *answer, what);
  return Status::Ok();
}

Status RunReserveRemove(CommandContext& context, const ReserveOptions& options) {
  glim::v1::RemoveReservationRequest request;
  request.set_name(options.name);
  request.set_dry_run(true);
  auto answer = context.client.Call(&ReserveApi::Stub::RemoveReservation, request);
  if (!answer.ok()) return answer.status();
  const std::string what = ReservationRemovedText(*answer);
  if (!options.change.dry_run) {
    const Status sure = Confirm(context, options.change, what, fmt::format("take reservation {} back?", options.name));
    if (!sure.ok()) return sure;
    request.set_dry_run(false);
    answer = context.client.Call(&ReserveApi::Stub::RemoveReservation, request);
    if (!answer.ok()) return answer.status();
  }
  Answer(context, options.change, *answer, what);
  return Status::Ok();
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
  set.Option("--team", &options->team, "whose jobs may be there; not given: nobody's");
  set.Option("--pool", &options->pool, "the pool that --nodes are of");
  set.Option("--nodes", &options->share, "so many nodes of the pool: those that cost least to free");
  set.Option("--node", &options->node_names, "these very nodes: n1,n2");
  set.ParsedOption("--from", "when it begins: 'in 2h', 2026-12-01T08:00Z; not given: now, or as it began",
                   IntoComingMoment(&options->from));
  set.ParsedOption("--until", "when it ends: 'in 6h', 2026-12-01T12:00Z", IntoComingMoment(&options->until));
  AddDurationOption(set, "--for", &options->lasts, "how long it lasts, instead of --until");
  AddChangeOptions(set, &options->change, Presence::kRequired);
  set.Example(
      "glim admin reserve set release --team vision --pool default --nodes 4 --from 2026-12-01T08:00Z --for 4h "
      "--reason 'a deadline'");
  set.Example("glim admin reserve set firmware --node n1,n2 --from 'in 2h' --for 1h --reason 'new firmware' --dry-run");

  Syntax remove = AddReserveCommand(reserve, selection, options, "rm", "Take a reservation back", RunReserveRemove);
  remove.Option("NAME", &options->name, "the reservation's name", Presence::kRequired);
  remove.Flag("-y,--yes", &options->change.yes, "do not ask");
  remove.Flag("--dry-run", &options->change.dry_run, "show what would change, and change nothing");
  remove.Example("glim admin reserve rm release");

  Syntax list =
      AddReserveCommand(reserve, selection, options, "ls", "List the reservations, the earliest first", RunReserveList);
  list.Example("glim admin reserve ls");
}

}  // namespace glim::cli
