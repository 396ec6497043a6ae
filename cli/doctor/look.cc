#include "cli/doctor/look.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/base/duration_text.h"

namespace glim::cli::doctor {

void Notebook::Say(const std::string& check, Outcome outcome) {
  const auto found = std::find(checks_.begin(), checks_.end(), check);
  GLIM_CHECK(found != checks_.end(), "a look says what it was made for");
  const std::lock_guard lock(mutex_);
  std::optional<Outcome>& slot = outcomes_[static_cast<std::size_t>(found - checks_.begin())];
  if (!slot) slot = std::move(outcome);
}

void Notebook::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  closed_changed_.notify_all();
}

bool Notebook::WaitClosed(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  return closed_changed_.wait_until(lock, until, [this] { return closed_; });
}

std::vector<Finding> Notebook::Findings(Duration within) {
  const std::lock_guard lock(mutex_);
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    const Check& check = CheckNamed(role_, checks_[i]);
    if (outcomes_[i]) {
      findings.push_back({&check, *outcomes_[i]});
    } else if (!closed_) {
      findings.push_back({&check, Fault("did not answer within " + RoundedDurationText(within),
                                        "find out what hangs: storage, the resolver of names, or the network")});
    }
  }
  return findings;
}

Look LookAt(Role role, std::string check, std::function<Outcome()> run) {
  const auto say = [check, run = std::move(run)](Notebook& notebook) { notebook.Say(check, run()); };
  return {role, {check}, say};
}

std::vector<Finding> RunLooks(const std::vector<Look>& looks, Duration within) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(within.ms);
  std::vector<std::pair<std::shared_ptr<Notebook>, std::thread>> running;
  for (const Look& look : looks) {
    auto notebook = std::make_shared<Notebook>(look.role, look.checks);
    std::thread thread([notebook, run = look.run] {
      run(*notebook);
      notebook->Close();
    });
    running.emplace_back(std::move(notebook), std::move(thread));
  }
  std::vector<Finding> findings;
  for (auto& [notebook, thread] : running) {
    const bool closed = notebook->WaitClosed(until);
    for (Finding& finding : notebook->Findings(within)) findings.push_back(std::move(finding));
    // Who hangs in the kernel goes with the program.
    closed ? thread.join() : thread.detach();
  }
  return findings;
}

}  // namespace glim::cli::doctor
