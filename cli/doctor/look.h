// Looks at the machine, side by side and in bounded time: storage, resolvers and programs may hang for ever, and a
// doctor that hangs tells nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/finding.h"
#include "sdk/base/time.h"

namespace glim::cli::doctor {

struct Look;

// Where a look says what it found, check by check, as soon as it knows. Any thread; outlives the run if the look does.
class Notebook {
 public:
  Notebook(Role role, std::vector<std::string> checks) : role_(role), checks_(std::move(checks)) {
    outcomes_.resize(checks_.size());
  }
  // `check` is one of the look's own (CHECK). The first word about each counts.
  void Say(const std::string& check, Outcome outcome);
  // The look is over: what it said nothing about is left out.
  void Close();

 private:
  friend std::vector<Finding> RunLooks(const std::vector<Look>& looks, Duration within);
  bool WaitClosed(std::chrono::steady_clock::time_point until);
  std::vector<Finding> Findings(Duration within);

  const Role role_;
  const std::vector<std::string> checks_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable closed_changed_;
  std::vector<std::optional<Outcome>> outcomes_;
  bool closed_ = false;
};

// One or several checks that one thread makes. `run` owns all that it uses: it may be left behind.
struct Look {
  Role role;
  std::vector<std::string> checks;
  std::function<void(Notebook&)> run;
};
// A look of one check.
Look LookAt(Role role, std::string check, std::function<Outcome()> run);

// All at once. A check of which nothing was heard `within` that time is a fault: it hangs.
std::vector<Finding> RunLooks(const std::vector<Look>& looks, Duration within);

}  // namespace glim::cli::doctor
