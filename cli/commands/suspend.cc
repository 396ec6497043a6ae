// glim suspend: stop jobs and hold them until they are resumed.
#include "cli/commands/change_state.h"

namespace glim::cli {

void AddSuspend(Syntax app, Selection* selection) {
  AddStateCommand(app, selection, "suspend", "Stop jobs and hold them until they are resumed", "were not suspended",
                  &glim::v1::ClientApi::Stub::Suspend);
}

}  // namespace glim::cli
