// glim queue (ps): jobs in the order in which they are planned.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/command.h"
#include "cli/rpc/list_jobs.h"
#include "cli/text/render_json.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

struct QueueOptions {
  bool all = false;
  std::vector<std::string> states;
  std::string pool, team, user, priority, name;

  bool filtered() const {
    return !states.empty() || !pool.empty() || !team.empty() || !user.empty() || !priority.empty() || !name.empty();
  }
};

// Words with commas between them; the scheduler knows which words there are.
std::string TakeStates(const std::string& words, std::vector<std::string>* states) {
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = words.find(',', begin);
    const std::string word = words.substr(begin, end == std::string::npos ? end : end - begin);
    if (word.empty()) return "'" + words + "' is no list of states; write it like queued,running";
    states->push_back(word);
    if (end == std::string::npos) return "";
    begin = end + 1;
  }
}

Result<std::vector<glim::v1::Job>> ListJobs(Client& client, const QueueOptions& options) {
  glim::v1::ListJobsRequest request;
  request.set_all(options.all);
  for (const std::string& state : options.states) request.add_states(state);
  request.set_pool(options.pool);
  request.set_team(options.team);
  request.set_user(options.user);
  request.set_priority(options.priority);
  request.set_name(options.name);
  return ListAllJobs(client, std::move(request));
}

Status RunQueue(CommandContext& context, const QueueOptions& options) {
  Result<std::vector<glim::v1::Job>> jobs = ListJobs(context.client, options);
  if (!jobs.ok()) return jobs.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["jobs"] = Json::array();
    for (const auto& job : *jobs) document["jobs"].push_back(JobJson(job));
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  if (jobs->empty()) {
    const bool ended_too = options.all || !options.states.empty();
    const std::string none = options.filtered() ? "no such jobs" : "no jobs";
    context.output.Note(ended_too ? none : none + "; --all shows those that have ended");
    return Status::Ok();
  }
  context.output.Data(QueueTable(*jobs, Now(), context.output.colour()));
  return Status::Ok();
}

}  // namespace

void AddQueue(Syntax app, Selection* selection) {
  const auto options = std::make_shared<QueueOptions>();
  Syntax command = app.AddCommand("queue", "List jobs, the waiting ones in the order of planning");
  command.Example("glim queue --state queued --pool a100");
  command.Alias("ps");
  command.Flag("-a,--all", &options->all, "also those that have ended");
  command.ParsedOption("--state", "only those in these states: queued, or several as running,held",
                       [=](const auto& word) { return TakeStates(word, &options->states); });
  command.Option("--pool", &options->pool, "only those of this pool");
  command.Option("--team", &options->team, "only this team's");
  command.Option("--user", &options->user, "only this user's");
  command.Option("--priority", &options->priority, "only those of this class");
  command.Option("--name", &options->name, "only those with this in their names");
  command.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunQueue(context, *options); }; });
}

}  // namespace glim::cli
