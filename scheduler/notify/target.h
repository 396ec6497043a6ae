// One place of the policy's, and sending to it. Blocks; any thread, each call for itself.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "scheduler/core/model/policy.h"
#include "scheduler/notify/figures.h"
#include "scheduler/notify/message.h"
#include "sdk/base/status.h"

namespace glim::notify {

struct Target {
  TargetKind kind = TargetKind::kNone;
  core::NotifyWebhook webhook{};  // which of the two: `kind`
  core::NotifyCommand command{};
  friend bool operator==(const Target&, const Target&) = default;
};

// By a name of the policy's; kind none: there is no such name.
Target TargetOf(const core::NotifyPolicy& policy, const std::string& name);

// Ok: it was told. FAILED_PRECONDITION (REFUSED): it said no. Everything else: it may work later. `stopping` is looked
// at while the call waits.
using Send = std::function<Status(const Target&, const Message&, const std::atomic<bool>& stopping)>;
Status SendTo(const Target& target, const Message& message, const std::atomic<bool>& stopping);

// What would keep this target from being told, before anything is sent.
Status CheckTarget(const Target& target);

}  // namespace glim::notify
