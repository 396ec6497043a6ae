// glim history: jobs that have ended, newest first, also those that the queue has forgotten.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "cli/commands/command.h"
#include "cli/text/render_json.h"
#include "cli/views/views.h"
#include "sdk/base/suggest.h"

namespace glim::cli {
namespace {

constexpr std::uint32_t kHistoryPageSize = 500;
constexpr std::uint32_t kLimitDefault = 50;
constexpr std::uint32_t kLimitMax = 100'000;
constexpr std::array<std::string_view, 3> kStates = {"succeeded", "failed", "cancelled"};

struct HistoryOptions {
  std::string user;
  std::string state;
  std::string pool, team, priority, name;
  Duration since;  // 0: all that are kept
  std::uint32_t limit = kLimitDefault;
};

std::string CheckState(const std::string& word) {
  if (std::find(kStates.begin(), kStates.end(), word) != kStates.end()) return "";
  const std::string near = Nearest(word, kStates);
  return "'" + word + "' is none in which a job ends; " +
         (near.empty() ? "use succeeded, failed or cancelled" : "did you mean '" + near + "'?");
}

Status RunHistory(CommandContext& context, const HistoryOptions& options) {
  std::vector<glim::v1::EndedJob> jobs;
  glim::v1::ListHistoryRequest request;
  request.set_user(options.user);
  request.set_state(options.state);
  request.set_pool(options.pool);
  request.set_team(options.team);
  request.set_priority(options.priority);
  request.set_name(options.name);
  request.set_max_age_ms(options.since.ms);
  bool more = true;
  while (more && jobs.size() < options.limit) {
    request.set_page_size(std::min(kHistoryPageSize, options.limit - static_cast<std::uint32_t>(jobs.size())));
    Result<glim::v1::ListHistoryResponse> page = context.client.Call(&glim::v1::ClientApi::Stub::ListHistory, request);
    if (!page.ok()) return page.status();
    for (auto& job : *page->mutable_jobs()) jobs.push_back(std::move(job));
    // A server that does not get on is not asked for ever.
    more = !page->next_page_token().empty() && page->next_page_token() != request.page_token();
    request.set_page_token(page->next_page_token());
  }
  if (context.output.json()) {
    Json document = NewDocument();
    document["jobs"] = Json::array();
    for (const auto& job : jobs) document["jobs"].push_back(MessageJson(job));
    document["more"] = more;
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  if (jobs.empty()) {
    context.output.Note("no jobs that have ended; 'glim queue' shows those that have not");
    return Status::Ok();
  }
  context.output.Data(HistoryTable(jobs, Now(), context.output.colour()));
  if (more) context.output.Note("there are older ones; --limit shows more");
  return Status::Ok();
}

}  // namespace

void AddHistory(Syntax app, Selection* selection) {
  const auto options = std::make_shared<HistoryOptions>();
  Syntax command = app.AddCommand("history", "List jobs that have ended, newest first, and what they cost");
  command.Example("glim history --state failed --since 7d");
  command.Option("--user", &options->user, "only this user's");
  command.CheckedOption("--state", &options->state, "only those that ended so: succeeded, failed or cancelled",
                        CheckState);
  command.Option("--pool", &options->pool, "only those of this pool");
  command.Option("--team", &options->team, "only this team's");
  command.Option("--priority", &options->priority, "only those that were of this class");
  command.Option("--name", &options->name, "only those with this in their names");
  AddDurationOption(command, "--since", &options->since, "ended within this (7d); without it all that are kept");
  command.BoundedOption("--limit", &options->limit, "at most so many (50)", 1, kLimitMax);
  command.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunHistory(context, *options); }; });
}

}  // namespace glim::cli
