// Changes that the scheduler cannot try before they are made: the command says in words what will change, by what there
// is now, asks, and makes them. Main thread only.
#pragma once

#include <functional>
#include <string>

#include "cli/commands/confirm.h"
#include "cli/text/render_json.h"

namespace glim::cli {

struct AskedChange {
  // What will change, in lines; a refusal where the scheduler would refuse. Not called with -y.
  std::function<Result<std::string>()> in_words;
  std::string question;
  Json document = Json::object();  // of -o json, for what is known before
  // Makes the change, adds to the document what came of it, and says it.
  std::function<Status(Json* document)> make;
};

// With --dry-run the words are all, and nothing is asked. `make` prints nothing where JSON is asked for.
Status MakeAfterAsking(CommandContext& context, const ChangeOptions& options, const AskedChange& change);

}  // namespace glim::cli
