// Result<T>: a value, or the Status that says why there is none. Owns the value. Asking a failed Result for its
// value is a bug in the caller and ends the program (CHECK).
#pragma once

#include <optional>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/base/status.h"

namespace glim {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return value;` is the point
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    GLIM_CHECK(!status_.ok(), "a Result without a value needs an error");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  const T& value() const& {
    GLIM_CHECK(ok(), status_.message());
    return *value_;
  }
  T& value() & {
    GLIM_CHECK(ok(), status_.message());
    return *value_;
  }
  T&& value() && {
    GLIM_CHECK(ok(), status_.message());
    return *std::move(value_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace glim
