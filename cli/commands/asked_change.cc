#include "cli/commands/asked_change.h"

namespace glim::cli {

Status MakeAfterAsking(CommandContext& context, const ChangeOptions& options, const AskedChange& change) {
  Json document = NewDocument();
  document["changed"] = !options.dry_run;
  document.update(change.document);
  if (options.dry_run || !options.yes) {
    const Result<std::string> what = change.in_words();
    if (!what.ok()) return what.status();
    if (options.dry_run) {
      document["meaning"] = *what;
      context.output.Data(context.output.json() ? DumpJson(document) : *what);
      if (!context.output.json()) context.output.Note("nothing was changed");
      return Status::Ok();
    }
    if (Status sure = Confirm(context, options, *what, change.question); !sure.ok()) return sure;
  }
  if (Status made = change.make(&document); !made.ok()) return made;
  if (context.output.json()) context.output.Data(DumpJson(document));
  return Status::Ok();
}

}  // namespace glim::cli
