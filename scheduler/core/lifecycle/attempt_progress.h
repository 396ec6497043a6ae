// What an attempt's ranks say of their work: steps, restores, durable saves.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// The newest save of which every shard's owner has reported its shard; none if there is no such save.
std::optional<Checkpoint> NewestDurable(const std::vector<const Task*>& tasks);

void SeeProgress(Changes& changes, AttemptId attempt, const std::vector<const Task*>& tasks);

}  // namespace glim::core
