// glim resume: put a suspended job back into the queue.
#include "cli/commands/change_state.h"

namespace glim::cli {

void AddResume(CLI::App* app, Selection* selection) {
  AddStateCommand(app, selection, "resume", "Put a suspended job back into the queue",
                  &glim::v1::ClientApi::Stub::Resume);
}

}  // namespace glim::cli
