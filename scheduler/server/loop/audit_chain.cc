#include "scheduler/server/loop/audit_chain.h"

#include <utility>

#include "sdk/base/cut_text.h"
#include "sdk/base/little_endian.h"
#include "sdk/base/printable.h"
#include "sdk/snapshot/sha256.h"

namespace glim::server {
namespace {

// With its length, so that no two rows are the same bytes.
void Append(std::string& bytes, const std::string& text) {
  AppendLittleEndian(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
}

std::string Kept(const std::string& text) { return CutText(Escaped(CutText(text, kAuditFieldMax)), kAuditFieldMax); }

}  // namespace

std::string AuditHash(const std::string& before, const store::AuditRow& row) {
  std::string bytes;
  bytes.reserve(256 + row.before.size() + row.after.size());
  Append(bytes, before);
  AppendLittleEndian(bytes, row.seq);
  AppendLittleEndian(bytes, static_cast<std::uint64_t>(row.at.ms));
  for (const std::string* field :
       {&row.user, &row.token, &row.peer, &row.method, &row.object, &row.before, &row.after, &row.outcome}) {
    Append(bytes, *field);
  }
  return snapshot::Sha256Hex(bytes);
}

store::AuditRow AuditChain::Next(AuditNote note, std::string outcome, TimePoint at) {
  store::AuditRow row;
  row.seq = end_.seq + 1;
  row.at = at;
  row.user = Kept(note.user);
  row.token = Kept(note.token);
  row.peer = Kept(note.peer);
  row.method = Kept(note.method);
  row.object = Kept(note.object);
  row.before = Kept(note.before);
  row.after = Kept(note.after);
  row.outcome = Kept(outcome);
  row.hash = AuditHash(end_.hash, row);
  end_ = {row.seq, row.hash};
  return row;
}

bool AuditChecker::Check(const std::vector<store::AuditRow>& page) {
  for (const store::AuditRow& row : page) {
    if (broken_at_ != 0) return false;
    const std::uint64_t next = end_.seq + 1;
    if (row.seq != next) {
      Break("row " + std::to_string(next) + " is missing: the next that is there is " + std::to_string(row.seq));
    } else if (row.hash != AuditHash(end_.hash, row)) {
      Break("row " + std::to_string(next) + " does not have the hash that it and the row before give: one was changed");
    } else {
      end_ = {row.seq, row.hash};
      ++entries_;
    }
  }
  return broken_at_ == 0;
}

void AuditChecker::Break(std::string why) {
  broken_at_ = end_.seq + 1;
  why_ = std::move(why);
}

}  // namespace glim::server
