// glim suspend: stop a job and hold it until it is resumed.
#include "cli/commands/change_state.h"

namespace glim::cli {

void AddSuspend(CLI::App* app, Selection* selection) {
  AddStateCommand(app, selection, "suspend", "Stop a job and hold it until it is resumed",
                  &glim::v1::ClientApi::Stub::Suspend);
}

}  // namespace glim::cli
