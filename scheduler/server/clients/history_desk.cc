#include "scheduler/server/clients/history_desk.h"

#include <sys/resource.h>

#include <utility>

namespace glim::server {
namespace {

constexpr int kNice = 10;  // passes come first, where processors are few

// Of the calling thread alone, on Linux.
void StandBack() { ::setpriority(PRIO_PROCESS, 0, kNice); }

}  // namespace

Status HistoryDesk::PostReport(const std::string& user, const std::string& peer, Work work, Done done) {
  return Post(user, peer, std::move(work), std::move(done));
}

Status HistoryDesk::PostPage(const std::string& peer, Work work, Done done) {
  return Post("#" + std::to_string(pages_.fetch_add(1)), peer, std::move(work), std::move(done));
}

Status HistoryDesk::Post(std::string key, const std::string& peer, Work work, Done done) {
  if (!has_reader_) {
    return loop_->Read([work = std::move(work), done = std::move(done)](store::Store& store) { done(work(store)); });
  }
  const auto ask = [this, work = std::move(work)] {
    StandBack();
    return work(*reader_);
  };
  return adviser_.Post(std::move(key), peer, {ask, std::move(done)});
}

void HistoryDesk::Stop() {
  adviser_.Stop();
  reader_.reset();
}

}  // namespace glim::server
