#include "scheduler/server/clients/layout_service.h"

#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/layout_rules.h"
#include "scheduler/server/clients/account_calls.h"
#include "scheduler/server/convert/layout_convert.h"
#include "scheduler/server/convert/seen_state.h"
#include "scheduler/server/door/call.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr int kChangesMax = 1000;
constexpr int kObjectsNamedMax = 8;
constexpr std::size_t kNoteBytesMax = 16'384;  // of each text of the audit trail

// A refusal of one of the changes, with its place among them.
Status AtChange(int place, const Status& status) {
  return Status(status.code(), "changes[" + std::to_string(place) + "]: " + status.message())
      .WithReason(status.reason())
      .WithField(status.field())
      .WithFix(status.fix());
}

// Of what changes: which rows, and how they were and are to be, for the audit trail.
class NoteTexts {
 public:
  void Add(const v1::RowDiff& row) {
    if (++rows_ <= kObjectsNamedMax) objects_ += (objects_.empty() ? "" : ", ") + row.object();
    AddTo(&before_, row.object(), row.before());
    AddTo(&after_, row.object(), row.after());
  }
  std::string Object() const {
    return rows_ > kObjectsNamedMax ? objects_ + " and " + std::to_string(rows_ - kObjectsNamedMax) + " more"
                                    : objects_;
  }
  // Of one row its words alone.
  std::string Before(const v1::ChangeRowsResponse& all) const {
    return all.rows_size() == 1 ? all.rows(0).before() : before_;
  }
  std::string After(const v1::ChangeRowsResponse& all) const {
    return all.rows_size() == 1 ? all.rows(0).after() : after_;
  }

 private:
  static void AddTo(std::string* text, const std::string& object, const std::string& words) {
    if (text->size() > kNoteBytesMax) return;
    *text += (text->empty() ? "" : " | ") + object + ": " + (words.empty() ? "none" : words);
    if (text->size() > kNoteBytesMax) *text += " | ...";
  }
  int rows_ = 0;
  std::string objects_, before_, after_;
};

// Looks at the changes one after the other, each on the rows as those before it leave them.
struct Review {
  core::Accounts rows;
  KnownNames known;
  std::vector<core::AccountChange> changes;
  bool denied = false;  // the refusal is one of rights
  std::string object;   // of the change that was refused

  Status Take(const Caller& caller, const v1::RowChange& asked, v1::ChangeRowsResponse* response) {
    auto change = RowChangeFromProto(asked);
    if (!change.ok()) return change.status();
    object = ObjectOf(change->row);
    if (Status may = CheckMayChange(caller, rows, *change); !may.ok()) {
      denied = true;
      return may;
    }
    // What one of the changes before has declared is known.
    known.pools.merge(PoolsNamedBy(*change));
    known.zones.merge(ZonesNamedBy(*change));
    if (Status named = CheckNamed(known, *change); !named.ok()) return named;
    const bool same = !change->removed && rows.Has(change->row);
    if (!same) {
      v1::RowDiff* const diff = response->add_rows();
      diff->set_object(object);
      diff->set_before(RowNow(rows, change->row));
      diff->set_after(change->removed ? "" : RowInWords(change->row));
      rows.Change(*change);
    }
    changes.push_back(std::move(change).value());
    return Status::Ok();
  }
  static std::set<std::string> PoolsNamedBy(const core::AccountChange& change) {
    const auto* const pool = std::get_if<core::PoolRow>(&change.row);
    return pool == nullptr || change.removed ? std::set<std::string>() : std::set<std::string>{pool->name};
  }
  static std::set<std::string> ZonesNamedBy(const core::AccountChange& change) {
    const auto* const zone = std::get_if<core::ZoneRow>(&change.row);
    return zone == nullptr || change.removed ? std::set<std::string>() : std::set<std::string>{zone->name};
  }
};

std::string WordsOf(const v1::ChangeRowsResponse& response) {
  std::string words;
  for (const v1::RowDiff& row : response.rows())
    words += row.object() + "\n" + row.before() + "\n" + row.after() + "\n";
  return words;
}

Status CheckCount(int changes) {
  if (changes > 0 && changes <= kChangesMax) return Status::Ok();
  return InvalidArgument("changes", changes == 0 ? "is empty" : "has " + std::to_string(changes) + " rows",
                         "give 1 to " + std::to_string(kChangesMax) + " rows");
}

}  // namespace

LayoutService::LayoutService(SchedulerLoop* loop, Door* door) : loop_(loop), door_(door) {}

LayoutService::~LayoutService() = default;

grpc::ServerUnaryReactor* LayoutService::ListLayout(grpc::CallbackServerContext* context,
                                                    const v1::ListLayoutRequest* request,
                                                    v1::ListLayoutResponse* response) {
  Call* const call = Call::Open(door_, context, "LayoutApi/ListLayout", *request);
  if (!call->admitted()) return call;
  LayoutToProto(loop_->snapshot()->tables, response);
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* LayoutService::ChangeRows(grpc::CallbackServerContext* context,
                                                    const v1::ChangeRowsRequest* request,
                                                    v1::ChangeRowsResponse* response) {
  Call* const call = Call::Open(door_, context, "LayoutApi/ChangeRows", *request);
  if (!call->admitted()) return call;
  if (Status count = CheckCount(request->changes_size()); !count.ok()) return call->Refuse(count);
  if (Status named = CheckHasName(call->user()); !named.ok()) return call->Refuse(named);
  const SnapshotPtr snapshot = loop_->snapshot();
  Review review{*snapshot->tables.accounts, NamesOf(snapshot->tables), {}, false, {}};
  for (int i = 0; i < request->changes_size(); ++i) {
    const Status taken = review.Take(call->caller(), request->changes(i), response);
    if (taken.ok()) continue;
    const Status told = request->changes_size() == 1 ? taken : AtChange(i, taken);
    return review.denied ? call->Deny(told, review.object) : call->Refuse(told);
  }
  response->set_meaning(core::MeaningOfLinks(snapshot->tables.accounts->links, review.rows.links));
  response->set_state(StateOf(WordsOf(*response)));
  if (Status s = CheckExpected(request->expect(), response->state(), "one of the rows"); !s.ok())
    return call->Refuse(s);
  NoteTexts texts;
  for (const v1::RowDiff& row : response->rows()) texts.Add(row);
  std::optional<AuditNote> note;  // a question changes nothing
  if (!request->dry_run()) note = call->Note(texts.Object(), texts.Before(*response), texts.After(*response));
  core::ChangeAccounts event{std::move(review.changes), call->user(), request->dry_run()};
  if (!request->expect().empty()) event.expected = snapshot->tables.accounts;
  const Status posted = loop_->Post(
      std::move(event),
      [call, response, peer = context->peer(), dry_run = request->dry_run()](const core::Reply& reply) {
        if (reply.status.ok() && !dry_run) {
          LogInfo("rows changed by an operator rows={} peer={}", response->rows_size(), peer);
        }
        call->Answer(reply.status, response);
      },
      std::move(note));
  return posted.ok() ? call : call->Refuse(posted);
}

}  // namespace glim::server
