// glim suspend: stop jobs and hold them until they are resumed.
#include "cli/commands/change_state.h"

namespace glim::cli {

void AddSuspend(Syntax app, Selection* selection) {
  AddStateCommand(app, selection, "Stop jobs and hold them until they are resumed", "were not suspended",
                  {.verb = "suspend"}, &glim::v1::ClientApi::Stub::Suspend);
}

}  // namespace glim::cli
