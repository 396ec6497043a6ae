#include "scheduler/server/loop/audit_check.h"

#include <memory>
#include <utility>

namespace glim::server {
namespace {

constexpr std::size_t kPage = 1'000;

struct Walk : std::enable_shared_from_this<Walk> {
  SchedulerLoop* loop = nullptr;
  std::function<void(const Result<AuditChecker>&)> done;
  AuditChecker checker;
  bool began = false;
  std::size_t page = kPage;

  void Ask() {
    const Status asked = loop->Read([self = shared_from_this()](store::Store& store) { self->See(store); });
    if (!asked.ok()) done(asked);
  }

  void See(store::Store& store) {
    if (!std::exchange(began, true)) {
      auto base = store.AuditBase();
      if (!base.ok()) return done(base.status());
      checker = AuditChecker(std::move(base).value());
    }
    const auto rows = store.Audit({.after = checker.end().seq, .limit = page});
    if (!rows.ok()) return SeeFault(rows.status());
    const bool more = rows->size() == page;
    if (checker.Check(*rows) && more) return Ask();
    done(checker);
  }

  // A row that cannot be read is one that was changed: found one by one.
  void SeeFault(const Status& status) {
    if (status.code() != StatusCode::kDataLoss) return done(status);
    if (page > 1) {
      page = 1;
      return Ask();
    }
    checker.Break(status.message());
    done(checker);
  }
};

}  // namespace

void CheckAudit(SchedulerLoop* loop, std::function<void(const Result<AuditChecker>&)> done) {
  auto walk = std::make_shared<Walk>();
  walk->loop = loop;
  walk->done = std::move(done);
  walk->Ask();
}

}  // namespace glim::server
