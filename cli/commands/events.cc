// glim events: what happened, oldest first. With -f it goes on with what happens next, through short absences of the
// scheduler and without reading anything twice.
#include <algorithm>
#include <memory>

#include "cli/commands/command.h"
#include "cli/text/render_json.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

constexpr Duration kEventsPause = Milliseconds(500);
constexpr int kEventsOutageTriesMax = 120;  // with kEventsPause: a minute
constexpr Duration kSinceDefault = Hours(1);

struct EventsOptions {
  std::uint64_t job_id = 0;
  std::string node;
  Duration since{-1};  // negative: not said
  bool follow = false;
};

class EventReader {
 public:
  EventReader(CommandContext& context, const EventsOptions& options) : context_(context), follow_(options.follow) {
    request_.set_job_id(options.job_id);
    request_.set_node(options.node);
    request_.set_follow(options.follow);
    // Of one job everything that is kept; of a whole cluster that would be too much to be asked for by not asking.
    const bool all = options.since.ms < 0 && options.job_id != 0;
    const Duration since = options.since.ms < 0 ? kSinceDefault : options.since;
    if (!all) request_.set_max_age_ms(std::max<std::int64_t>(1, since.ms));
    said_since_ = all || options.since.ms >= 0;
  }

  Status Run() {
    for (int tries = 0;;) {
      const std::uint64_t before = request_.after();
      Status status = context_.client.StreamEvents(request_, [this](const auto& page) { Take(page); });
      const bool got_on = request_.after() != before;
      // A long history may take longer than one call's deadline: it is asked for again from where it stands.
      if (!follow_ && status.code() == StatusCode::kDeadlineExceeded && got_on) continue;
      if (!follow_ || status.code() != StatusCode::kUnavailable) return End(status);
      tries = got_on ? 1 : tries + 1;
      if (!heard_ || tries > kEventsOutageTriesMax) return status;
      if (tries == 1) context_.output.Note("the scheduler is away; waiting for it to come back");
      if (context_.interruption.WaitFor(kEventsPause)) return Interruption::Cancelled();
    }
  }

 private:
  void Take(const glim::v1::StreamEventsResponse& page) {
    heard_ = true;
    for (const auto& event : page.events()) {
      ++count_;
      context_.output.Data(context_.output.json() ? DumpJson(EventJson(event))
                                                  : EventLine(event, context_.output.colour()));
    }
    // From here on the place is known: what happens during an absence is old when it is over, and wanted all the same.
    request_.set_after(page.next_after());
    request_.set_max_age_ms(0);
    if (follow_) context_.output.Flush();
  }

  static Json EventJson(const glim::v1::Event& event) {
    Json document = NewDocument();
    document.update(MessageJson(event));
    return document;
  }

  Status End(const Status& status) {
    if (status.ok() && count_ == 0) {
      context_.output.Note(said_since_ ? "no events" : "no events in the last hour; --since 7d looks further back");
    }
    return status;
  }

  CommandContext& context_;
  const bool follow_;
  glim::v1::StreamEventsRequest request_;
  bool said_since_ = false;
  bool heard_ = false;  // from the scheduler: one that was never there is an error, not an absence
  std::uint64_t count_ = 0;
};

}  // namespace

void AddEvents(Syntax app, Selection* selection) {
  const auto options = std::make_shared<EventsOptions>();
  Syntax command = app.AddCommand("events", "What happened, oldest first: of a job, of a node, or of all");
  command.Example("glim events --node n7 --since 24h");
  AddJobArgument(command, &options->job_id, Presence::kOptional);
  command.Option("--node", &options->node, "only of this node");
  AddDurationOption(command, "--since", &options->since, "not older than this (1h; of a job: all that are kept)");
  command.Flag("-f,--follow", &options->follow, "go on with what happens next");
  command.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return EventReader(context, *options).Run(); }; });
}

}  // namespace glim::cli
