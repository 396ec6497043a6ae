// A Status as Python's glim.checkpoint.CheckpointError.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "sdk/base/result.h"

namespace glim::checkpoint::python {

class Failure : public std::runtime_error {
 public:
  explicit Failure(const Status& status) : std::runtime_error(status.message()), status_(status) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

inline void ThrowIfFailed(const Status& status) {
  if (!status.ok()) throw Failure(status);
}

template <typename Value>
Value ValueOrThrow(Result<Value> result) {
  ThrowIfFailed(result.status());
  return std::move(result).value();
}

// What has happened and its fix, as the CheckpointError would say it.
std::string TextOf(const Status& status);

// Makes Failure a CheckpointError with code, reason, field and fix.
void RegisterFailure();

}  // namespace glim::checkpoint::python
