#include "scheduler/store/codec/row_codec.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/codec/account_fields.h"
#include "scheduler/store/codec/field_reader.h"
#include "scheduler/store/codec/field_writer.h"
#include "scheduler/store/codec/identity_fields.h"

namespace glim::store {

namespace {

using Json = nlohmann::json;

bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
}

template <typename Row>
std::string Encode(const Row& row, std::size_t size_hint) {
  std::string out;
  out.reserve(size_hint);
  FieldWriter writer(out);
  Fields(writer, row);
  writer.Close();
  return out;
}

Status Broken(const char* table, const std::string& key, const std::string& what) {
  return Status(StatusCode::kDataLoss, fmt::format("table {}, row {}: {}", table, key, what))
      .WithReason("STORE_CORRUPT")
      .WithFix("restore the database from a backup, or run the binary that wrote it");
}

template <typename Row>
Result<Row> Decode(Row row, std::string_view body, const char* table, const std::string& key) {
  const auto broken = [&](const std::string& what) { return Broken(table, key, what); };
  try {
    const Json json = Json::parse(body.begin(), body.end(), nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return Status(broken("the body is not JSON"));
    if (!json.is_object()) return Status(broken("the body is not a JSON object"));
    std::string error;
    FieldReader reader(json, error);
    Fields(reader, row);
    if (!error.empty()) return Status(broken(error));
    return row;
  } catch (const Json::exception& e) {  // nothing above should throw; a library's edge all the same
    return Status(broken(e.what()));
  }
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  if (std::all_of(text.begin(), text.end(), IsPlain)) [[likely]] {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  out += Json(text).dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string CleanText(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), IsPlain)) return std::string(text);
  const std::string valid = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string parsed = Json::parse(valid).get<std::string>();
  std::string clean;
  clean.reserve(parsed.size());
  for (const char c : parsed) {
    if (c == '\0') {
      clean += "\xEF\xBF\xBD";
    } else {
      clean += c;
    }
  }
  return clean;
}

std::string EncodeJob(const core::Job& row) { return Encode(row, 1600); }
std::string EncodeAttempt(const core::Attempt& row) { return Encode(row, 768 + 512 * row.agreements.size()); }
std::string EncodeTask(const core::Task& row) { return Encode(row, 256 + 384 * row.ranks.size()); }
std::string EncodeNode(const core::Node& row) { return Encode(row, 1024); }
std::string EncodeShare(const core::Share& row) { return Encode(row, 64); }
std::string EncodeLifeTable(const core::LifeTable& row) { return Encode(row, 256); }
std::string EncodeReservation(const core::Reservation& row) { return Encode(row, 384 + 40 * row.nodes.size()); }
std::string EncodeHistory(const core::HistoryEntry& row) { return Encode(row, 128 + row.text.size()); }
std::string EncodeHistoryFacts(const core::HistoryFacts& facts) { return Encode(facts, 160); }
// Columns are made of some of the texts (migrations 0008), and no column may hold a NUL.
std::string EncodeEndedJob(const EndedJob& row) {
  const std::size_t size_hint = 640 + row.message.size();
  const auto odd = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (!odd(row.name) && !odd(row.user) && !odd(row.team) && !odd(row.pool)) return Encode(row, size_hint);
  EndedJob clean = row;
  for (std::string* text : {&clean.name, &clean.user, &clean.team, &clean.pool}) *text = CleanText(*text);
  return Encode(clean, size_hint);
}

std::string EncodeAccount(const core::AccountRow& row) {
  return std::visit([](const auto& one) { return Encode(one, 128); }, row);
}

Result<core::AccountRow> DecodeAccount(const core::AccountKey& key, std::string_view body) {
  const auto as = [&](auto row) -> Result<core::AccountRow> {
    auto decoded = Decode(std::move(row), body, "accounts", key.kind + " " + key.name);
    if (!decoded.ok()) return decoded.status();
    core::AccountRow account(std::move(decoded).value());
    if (core::KeyOf(account) != key) return Broken("accounts", key.kind + " " + key.name, "the body is another row's");
    return account;
  };
  if (key.kind == "user") return as(core::User{});
  if (key.kind == "team") return as(core::Team{});
  if (key.kind == "quota") return as(core::QuotaRow{});
  if (key.kind == "pool") return as(core::PoolRow{});
  if (key.kind == "zone") return as(core::ZoneRow{});
  if (key.kind == "link") return as(core::ZoneLink{});
  if (key.kind == "import" && key.name == "layout") return as(core::LayoutImport{});
  if (key.kind == "import") return as(core::QuotaImport{});
  return Broken("accounts", key.kind + " " + key.name, "kind: unknown name \"" + key.kind.substr(0, 64) + "\"");
}

std::string EncodeIdentity(const core::IdentityRow& row) {
  return std::visit([](const auto& one) { return Encode(one, 512); }, row);
}

std::string EncodeAudit(const AuditRow& row) { return Encode(row, 192 + row.before.size() + row.after.size()); }

Result<core::IdentityRow> DecodeIdentity(const core::IdentityKey& key, std::string_view body) {
  const std::string name = key.kind + " " + key.name;
  const auto as = [&](auto row) -> Result<core::IdentityRow> {
    auto decoded = Decode(std::move(row), body, "identity", name);
    if (!decoded.ok()) return decoded.status();
    core::IdentityRow identity(std::move(decoded).value());
    if (core::KeyOf(identity) != key) return Broken("identity", name, "the body is another row's");
    return identity;
  };
  if (key.kind == "token") return as(core::TokenRow{});
  if (key.kind == "node") return as(core::NodeIdentity{});
  if (key.kind == "sealed") return as(core::SealedRow{});
  if (key.kind == "secret") return as(core::SecretRow{});
  return Broken("identity", name, "kind: unknown name \"" + key.kind.substr(0, 64) + "\"");
}

Result<AuditRow> DecodeAudit(AuditRow row, std::string_view body) {
  const std::string key = std::to_string(row.seq);
  return Decode(std::move(row), body, "audit", key);
}

Result<core::Job> DecodeJob(core::JobId id, std::string_view body) {
  core::Job row;
  row.id = id;
  return Decode(std::move(row), body, "jobs", std::to_string(id.value));
}

Result<core::Attempt> DecodeAttempt(core::AttemptId id, std::string_view body) {
  core::Attempt row;
  row.id = id;
  return Decode(std::move(row), body, "attempts", core::ToString(id));
}

Result<core::Task> DecodeTask(core::TaskId id, std::string_view body) {
  core::Task row;
  row.id = id;
  return Decode(std::move(row), body, "tasks", fmt::format("{}.{}", core::ToString(id.attempt), id.index));
}

Result<core::Node> DecodeNode(core::NodeId id, std::string_view body) {
  core::Node row;
  row.id = id;
  return Decode(std::move(row), body, "nodes", std::to_string(id.value));
}

Result<core::Share> DecodeShare(core::ShareId id, std::string_view body) {
  core::Share row;
  const std::string key = id.team + "/" + id.user;
  row.id = std::move(id);
  return Decode(std::move(row), body, "shares", key);
}

Result<core::LifeTable> DecodeLifeTable(core::LifeTableId id, std::string_view body) {
  core::LifeTable row;
  const std::string key = fmt::format("{}/{}/{}/{}", id.level, id.user, id.nodes, id.limit_minutes);
  row.id = std::move(id);
  return Decode(std::move(row), body, "life_tables", key);
}

Result<core::Reservation> DecodeReservation(std::string name, std::string_view body) {
  core::Reservation row;
  const std::string key = name;
  row.name = std::move(name);
  return Decode(std::move(row), body, "reservations", key);
}

Result<core::HistoryEntry> DecodeHistory(std::uint64_t seq, std::string_view body) {
  return Decode(core::HistoryEntry{}, body, "history", std::to_string(seq));
}

Result<core::HistoryEntry> DecodeHistory(HistoryColumns columns) {
  const std::string key = std::to_string(columns.seq);
  const auto kind = core::FromWord<core::HistoryKind>(columns.kind);
  if (!kind) return Broken("history", key, "kind: unknown name \"" + columns.kind.substr(0, 64) + "\"");
  auto facts = Decode(core::HistoryFacts{}, columns.facts, "history", key);
  if (!facts.ok()) return facts.status();
  core::HistoryEntry entry;
  entry.at = TimePoint{columns.at_ms};
  entry.kind = *kind;
  entry.job = core::JobId(columns.job);
  entry.attempt = columns.attempt;
  entry.node = core::NodeId(columns.node);
  entry.text = std::move(columns.text);
  entry.facts = std::move(facts).value();
  return entry;
}

Result<EndedJob> DecodeEndedJob(core::JobId id, std::string_view body) {
  EndedJob row;
  row.id = id;
  return Decode(std::move(row), body, "ended_jobs", std::to_string(id.value));
}

}  // namespace glim::store
