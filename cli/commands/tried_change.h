// Changes that the scheduler tries before it makes them (`dry_run`, `state` and `expect` of the protocol): the command
// shows what would come of it, asks, and has exactly that made. Main thread only.
#pragma once

#include <string>

#include "cli/commands/command.h"
#include "cli/commands/confirm.h"
#include "cli/text/option_names.h"
#include "cli/text/render_json.h"

namespace glim::cli {

// `in_words(answer)`: what would come of it, in lines; `question(answer)`: what the operator is asked. A refusal names
// the option. ABORTED (CHANGED_MEANWHILE): somebody was faster, and nothing was changed.
template <typename Stub, typename Request, typename Response, typename Words, typename Question>
Status MakeAsTried(CommandContext& context, const ChangeOptions& change, Request request,
                   Method<Stub, Request, Response> method, Words in_words, Question question) {
  request.set_dry_run(true);
  Result<Response> answer = context.client.Call(method, request);
  if (!answer.ok()) return WithOptionNames(answer.status());
  const std::string what = in_words(*answer);
  if (!change.dry_run) {
    if (Status sure = Confirm(context, change, what, question(*answer)); !sure.ok()) return sure;
    request.set_dry_run(false);
    request.set_expect(answer->state());
    answer = context.client.Call(method, request);
    if (!answer.ok()) return WithOptionNames(answer.status());
  }
  if (context.output.json()) {
    Json document = NewDocument();
    document["changed"] = !change.dry_run;
    document.update(MessageJson(*answer));
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  if (change.dry_run || change.yes) context.output.Data(what);
  if (change.dry_run) context.output.Note("nothing was changed");
  return Status::Ok();
}

}  // namespace glim::cli
