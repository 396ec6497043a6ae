// Copies saves in threads of its own, a bounded number at once, and never two of one job.
//
// Start and Cancel return at once, from any thread. `done` is called once for each copy that began, on a copying
// thread; none is called after the copier has gone. The destructor cancels everything and waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "nodeagent/saves/save_copy.h"

namespace glim::nodeagent {

class SaveCopier {
 public:
  using Done = std::function<void(const Status&)>;

  SaveCopier(CopyPlace place, unsigned at_once);
  ~SaveCopier();
  SaveCopier(const SaveCopier&) = delete;
  SaveCopier& operator=(const SaveCopier&) = delete;

  // What it returns may be watched.
  std::shared_ptr<CopyProgress> Start(CopyOrder order, Done done);
  // True: it had not begun, and its `done` is not called. False: it ends soon, and tells.
  bool Cancel(const std::shared_ptr<CopyProgress>& progress);

 private:
  struct Copy {
    CopyOrder order;
    Done done;
    std::shared_ptr<CopyProgress> progress;
  };

  void Run();
  std::deque<Copy>::iterator NextReady();

  const CopyPlace place_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Copy> waiting_;
  std::set<std::shared_ptr<CopyProgress>> under_way_;
  std::set<std::uint64_t> jobs_;  // of those
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace glim::nodeagent
