// glim resume: put suspended jobs back into the queue.
#include "cli/commands/change_state.h"

namespace glim::cli {

void AddResume(Syntax app, Selection* selection) {
  AddStateCommand(app, selection, "Put suspended jobs back into the queue", "were not resumed",
                  {.held = true, .verb = "resume"}, &glim::v1::ClientApi::Stub::Resume);
}

}  // namespace glim::cli
