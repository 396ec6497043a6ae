#include "scheduler/server/clients/audit_calls.h"

#include <utility>

#include "scheduler/server/convert/page_limits.h"
#include "scheduler/server/loop/audit_check.h"

namespace glim::server {
namespace {

constexpr std::uint32_t kEntriesDefault = 1'000;
constexpr std::uint32_t kEntriesMax = 10'000;

void EntryToProto(const store::AuditRow& row, v1::AuditEntry* out) {
  out->set_seq(row.seq);
  out->set_at_ms(row.at.ms);
  out->set_user(row.user);
  out->set_token(row.token);
  out->set_peer(row.peer);
  out->set_method(row.method);
  out->set_object(row.object);
  out->set_before(row.before);
  out->set_after(row.after);
  out->set_outcome(row.outcome);
  out->set_hash(row.hash);
}

}  // namespace

grpc::ServerUnaryReactor* ListAudit(Door* door, grpc::CallbackServerContext* context,
                                    const v1::ListAuditRequest& request, v1::ListAuditResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/ListAudit", request, {{Bound::kReads, 1}});
  if (!call->admitted()) return call;
  if (request.since_ms() < 0) return call->Refuse(InvalidArgument("since_ms", "is negative", "use 0 for all"));
  if (request.limit() > kEntriesMax) {
    return call->Refuse(
        InvalidArgument("limit", std::to_string(request.limit()) + " is too much", "use at most 10000"));
  }
  store::AuditQuery query;
  query.since = TimePoint{request.since_ms()};
  query.user = request.user();
  query.after = request.after();
  const std::size_t limit = request.limit() == 0 ? kEntriesDefault : request.limit();
  query.limit = limit;
  const Status posted = door->loop().Read([call, response, query, limit](store::Store& store) {
    auto rows = store.Audit(query);
    if (!rows.ok()) return call->Answer(rows.status());
    std::size_t bytes = 0;
    for (const store::AuditRow& row : *rows) {
      if (bytes > kPageBytesMax) break;
      EntryToProto(row, response->add_entries());
      bytes += response->entries(response->entries_size() - 1).ByteSizeLong();
    }
    // A full page may have been the last one: then the next is empty.
    const auto shown = static_cast<std::size_t>(response->entries_size());
    response->set_more(shown < rows->size() || rows->size() == limit);
    call->Answer(Status::Ok(), response);
  });
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* VerifyAudit(Door* door, grpc::CallbackServerContext* context,
                                      const v1::VerifyAuditRequest& request, v1::VerifyAuditResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/VerifyAudit", request, {{Bound::kReads, 1}});
  if (!call->admitted()) return call;
  CheckAudit(&door->loop(), [call, response](const Result<AuditChecker>& checked) {
    if (!checked.ok()) return call->Answer(checked.status());
    response->set_entries(checked->entries());
    response->set_broken_at(checked->broken_at());
    response->set_why(checked->why());
    response->set_last_hash(checked->end().hash);
    call->Answer(Status::Ok(), response);
  });
  return call;
}

}  // namespace glim::server
