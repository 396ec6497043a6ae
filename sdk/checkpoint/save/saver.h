// Saving in two steps: the caller's tensors are copied aside at once, a background thread makes them durable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/format/tensor.h"
#include "sdk/checkpoint/save/save_handle.h"
#include "sdk/checkpoint/save/saver_options.h"

namespace glim::checkpoint {

// Called by one thread (the trainer's); owns one background thread and the buffers, which are kept from save to save.
class Saver {
 public:
  // Begins the attempt (Directory::BeginAttempt). `now_ms` is asked for created_at and ages, from the background
  // thread.
  static Result<std::unique_ptr<Saver>> Create(const SaverOptions& options, std::function<std::int64_t()> now_ms);
  virtual ~Saver() = default;  // waits for what is on its way

  // Returns when the tensors' memory may change again. nullptr: skipped, because one is on its way (WhenBusy::kSkip).
  // Bad tensors or metadata are INVALID_ARGUMENT, no memory is RESOURCE_EXHAUSTED, and a device's failures are what
  // sdk/device says; they disturb nothing. What fails later
  // fails the handle: ALREADY_EXISTS for a step that this attempt has saved, DEADLINE_EXCEEDED naming the ranks whose
  // part did not come, SUPERSEDED when a higher attempt has begun, and what FileWriter and Directory say. The next save
  // works again. `on_done` (may be empty, must not throw) is called once, from the background thread, before Wait
  // returns.
  virtual Result<std::shared_ptr<SaveHandle>> SaveAsync(std::uint64_t step, std::span<const SaveTensor> tensors,
                                                        const std::map<std::string, std::string>& metadata,
                                                        std::function<void(const Result<SaveReport>&)> on_done) = 0;

  // Waits for all that is under way, the removal of old checkpoints too.
  virtual void Drain() = 0;

  // What this attempt goes on from.
  virtual const std::optional<CheckpointId>& base() const = 0;
};

}  // namespace glim::checkpoint
