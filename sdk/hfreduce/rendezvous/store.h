// Where the ranks of a communicator find each other.
#pragma once

#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::hfreduce {

// Keys are written once. Thread-safe. Errors: UNAVAILABLE (the store cannot be reached), DEADLINE (nobody wrote the key
// in time: the message names it), ALREADY_EXISTS (a key written twice with another value: two ranks with one number).
class Store {
 public:
  virtual ~Store() = default;
  virtual Status Set(const std::string& key, const std::string& value) = 0;
  // Waits until the key is there.
  virtual Result<std::string> Get(const std::string& key, Duration timeout) = 0;
};

}  // namespace glim::hfreduce
