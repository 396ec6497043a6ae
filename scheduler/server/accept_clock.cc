#include "scheduler/server/accept_clock.h"

#include "scheduler/server/loop/clock.h"
#include "scheduler/server/loop/store_clock.h"
#include "scheduler/store/open_store.h"

namespace glim::server {

Result<std::string> RunAcceptClock(const Config& config) {
  auto store = store::OpenStore(config.store);
  if (!store.ok()) return store.status();
  return AcceptClock(store->get(), MonotonicWallClock()());
}

}  // namespace glim::server
