#include "scheduler/server/convert/seen_state.h"

#include "scheduler/core/lifecycle/seen.h"
#include "sdk/snapshot/sha256.h"

namespace glim::server {
namespace {

constexpr std::size_t kStateBytes = 32;  // a chance in 2^128 that two are alike

}  // namespace

std::string StateOf(const std::string& words) { return snapshot::Sha256Hex(words).substr(0, kStateBytes); }

Status CheckExpected(const std::string& expect, const std::string& state, const std::string& what) {
  return expect.empty() || expect == state ? Status::Ok() : core::ChangedMeanwhile(what);
}

}  // namespace glim::server
