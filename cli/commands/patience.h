// Calls that the scheduler answers one at a time for a user: another one's end is waited for, for some seconds.
#pragma once

#include "cli/commands/command.h"

namespace glim::cli {

// As Client::Call; a refusal with reason OVERLOADED is asked again until that helps or patience has run out.
template <typename Request, typename Response>
Result<Response> CallWithPatience(CommandContext& context, Method<glim::v1::ClientApi::Stub, Request, Response> method,
                                  const Request& request) {
  constexpr int kTries = 20;
  constexpr Duration kPause = Milliseconds(250);
  for (int tries = 1;; ++tries) {
    Result<Response> response = context.client.Call(method, request);
    if (response.ok() || response.status().reason() != "OVERLOADED" || tries == kTries) return response;
    if (context.interruption.WaitFor(kPause)) return Interruption::Cancelled();
  }
}

}  // namespace glim::cli
