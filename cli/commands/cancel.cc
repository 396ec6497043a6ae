// glim cancel: stop jobs for good.
#include "cli/commands/change_state.h"

namespace glim::cli {

void AddCancel(Syntax app, Selection* selection) {
  AddStateCommand(app, selection, "Stop jobs for good", "were not cancelled", {.any = true, .verb = kCancelVerb},
                  &glim::v1::ClientApi::Stub::Cancel);
}

}  // namespace glim::cli
