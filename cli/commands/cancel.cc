// glim cancel: stop a job for good.
#include "cli/commands/change_state.h"

namespace glim::cli {

void AddCancel(CLI::App* app, Selection* selection) {
  AddStateCommand(app, selection, "cancel", "Stop a job for good", &glim::v1::ClientApi::Stub::Cancel);
}

}  // namespace glim::cli
