// What one rank does for the operations of its communicator: alone on a node with others, as the leader of a node, or
// behind a leader. The driver says when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/time.h"
#include "sdk/hfreduce/communicator/request.h"

namespace glim::hfreduce {

// Not thread-safe: the driver calls it under its lock.
class Part {
 public:
  virtual ~Part() = default;

  // Requests are worked on in order. After a failure each finishes with it at once.
  virtual void Start(Request request) = 0;
  // A bounded piece of work; finishes requests. False: there is nothing to do now.
  virtual bool Step() = 0;
  virtual bool idle() const = 0;
  // Looks for dead and stalled peers. About every kTickEvery while not idle.
  virtual void Tick(TimePoint now) = 0;
  // Changes with all that comes nearer to an end, here or on a peer of the node.
  virtual std::uint64_t progress() const = 0;
  // In words, whom the oldest operation that is not done waits for: "rank 3 has not called AllReduce of 12 fp32 (sum)
  // (operation 41)". Empty: there is none. After a while without progress.
  virtual std::string WaitsFor() const = 0;
  virtual void Abort(const std::string& reason) = 0;
  // Requests in flight fail. Step and Tick until left().
  virtual void Leave() = 0;
  virtual bool left() const = 0;

  // From here until EndSleep one of the descriptors becomes readable when Step has something to do. False: it has
  // already (EndSleep all the same).
  virtual bool BeginSleep() = 0;
  virtual void EndSleep() = 0;
  virtual std::vector<int> Descriptors() = 0;
};

inline constexpr Duration kTickEvery = Milliseconds(50);

}  // namespace glim::hfreduce
