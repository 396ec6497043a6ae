#include "nodeagent/sync/message_sizes.h"

#include <algorithm>

namespace glim::nodeagent {
namespace {

void KeepNewestSaves(v1::NodeReport* report, int most) {
  for (v1::ObservedTask& task : *report->mutable_tasks()) {
    for (v1::ObservedRank& rank : *task.mutable_ranks()) {
      const int count = rank.saves_size();
      if (count > most) rank.mutable_saves()->DeleteSubrange(0, count - most);
    }
  }
}

void DropWords(v1::NodeReport* report) {
  for (v1::ObservedTask& task : *report->mutable_tasks()) {
    task.clear_pids();
    task.clear_evidence();
    task.clear_left_names();
    task.set_message(task.message().substr(0, 400));
    for (v1::ObservedRank& rank : *task.mutable_ranks()) {
      rank.clear_cause();
      rank.clear_restore_failed();
      if (rank.has_save_failure()) rank.mutable_save_failure()->clear_why();
    }
  }
}

}  // namespace

void FitReport(v1::NodeReport* report, std::size_t bytes_max) {
  for (const int saves : {1, 0}) {
    if (report->ByteSizeLong() <= bytes_max) return;
    KeepNewestSaves(report, saves);
  }
  if (report->ByteSizeLong() > bytes_max) DropWords(report);
}

}  // namespace glim::nodeagent
