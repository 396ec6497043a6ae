#include "scheduler/store/codec/row_codec.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/codec/body.h"
#include "scheduler/store/codec/identity_fields.h"

namespace glim::store {

namespace {

using Json = nlohmann::json;

bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
}

}  // namespace

Status BrokenRow(std::string_view name, std::string_view what) {
  return Status(StatusCode::kDataLoss, fmt::format("row {}: {}", name, what))
      .WithReason("STORE_CORRUPT")
      .WithFix("restore the database from a backup, or run the binary that wrote it");
}

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

std::string EncodeHistory(const core::HistoryEntry& row) { return EncodeBody(row, 128 + row.text.size()); }
std::string EncodeHistoryFacts(const core::HistoryFacts& facts) { return EncodeBody(facts, 160); }
// Columns are made of some of the texts (migrations 0008), and no column may hold a NUL.
std::string EncodeEndedJob(const EndedJob& row) {
  const std::size_t size_hint = 640 + row.message.size();
  const auto odd = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (!odd(row.name) && !odd(row.user) && !odd(row.team) && !odd(row.pool)) return EncodeBody(row, size_hint);
  EndedJob clean = row;
  for (std::string* text : {&clean.name, &clean.user, &clean.team, &clean.pool}) *text = CleanText(*text);
  return EncodeBody(clean, size_hint);
}

std::string EncodeAudit(const AuditRow& row) { return EncodeBody(row, 192 + row.before.size() + row.after.size()); }

Result<AuditRow> DecodeAudit(AuditRow row, std::string_view body) {
  const std::string name = fmt::format("audit {}", row.seq);
  return DecodeBody(std::move(row), body, name);
}

Result<core::HistoryEntry> DecodeHistory(std::uint64_t seq, std::string_view body) {
  return DecodeBody(core::HistoryEntry{}, body, fmt::format("history {}", seq));
}

Result<core::HistoryEntry> DecodeHistory(HistoryColumns columns) {
  const std::string name = fmt::format("history {}", columns.seq);
  const auto kind = core::FromWord<core::HistoryKind>(columns.kind);
  if (!kind) return BrokenRow(name, fmt::format("kind: unknown name \"{}\"", columns.kind.substr(0, 64)));
  auto facts = DecodeBody(core::HistoryFacts{}, columns.facts, name);
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
  return DecodeBody(std::move(row), body, fmt::format("ended_jobs {}", id.value));
}

}  // namespace glim::store
