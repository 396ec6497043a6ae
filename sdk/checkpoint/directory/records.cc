#include "sdk/checkpoint/directory/records.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "sdk/checkpoint/format/json_reader.h"
#include "sdk/checkpoint/format/json_writer.h"

namespace glim::checkpoint {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kStepMax = std::numeric_limits<std::uint64_t>::max();

void ReadVersion(JsonReader& reader) {
  if (reader.Number(kStepMax) != kVersion && reader.ok()) reader.Fail("is a version that this program does not know");
}

void AppendId(std::string& out, CheckpointId id) {
  out += R"({"attempt":)";
  AppendNumber(out, id.attempt);
  out += R"(,"step":)";
  AppendNumber(out, id.step);
  out += '}';
}

CheckpointId ReadId(JsonReader& reader, std::uint32_t below) {
  constexpr std::array<std::string_view, 2> kFields = {"attempt", "step"};
  CheckpointId id;
  reader.Fields(kFields, 2, [&](std::size_t field) {
    if (field == 0) id.attempt = static_cast<std::uint32_t>(reader.Number(below == 0 ? 0 : below - 1));
    if (field == 1) id.step = reader.Number(kStepMax);
  });
  if (below == 0) reader.Fail("nothing comes before attempt 0");
  return id;
}

}  // namespace

std::string JobText(std::string_view job) {
  std::string out = R"({"version":1,"job":)";
  AppendQuoted(out, job);
  out += "}\n";
  return out;
}

Result<std::string> ParseJob(std::string_view text) {
  constexpr std::array<std::string_view, 2> kFields = {"version", "job"};
  JsonReader reader(text, "BAD_RECORD");
  std::string job;
  reader.Fields(kFields, 2, [&](std::size_t field) {
    if (field == 0) ReadVersion(reader);
    if (field == 1) job = reader.String();
  });
  reader.End();
  if (!reader.ok()) return reader.fault();
  return job;
}

std::string BaseText(std::uint32_t attempt, const BaseRecord& record) {
  std::string out = R"({"version":1,"attempt":)";
  AppendNumber(out, attempt);
  if (record.base) {
    out += R"(,"base":)";
    AppendId(out, *record.base);
  }
  out += R"(,"before":[)";
  for (std::size_t i = 0; i < record.before.size(); ++i) {
    if (i > 0) out += ',';
    AppendId(out, record.before[i]);
  }
  out += "]}\n";
  return out;
}

Result<BaseRecord> ParseBase(std::string_view text, std::uint32_t attempt) {
  constexpr std::array<std::string_view, 4> kFields = {"version", "attempt", "before", "base"};  // "base" may be absent
  JsonReader reader(text, "BAD_RECORD");
  BaseRecord record;
  reader.Fields(kFields, 3, [&](std::size_t field) {
    if (field == 0) ReadVersion(reader);
    if (field == 1 && reader.Number(kStepMax) != attempt && reader.ok()) reader.Fail("is of another attempt");
    if (field == 2) {
      reader.Array([&](std::size_t i) {
        record.before.push_back(ReadId(reader, attempt));
        if (i >= kBeforeMax) reader.Fail("has more than " + std::to_string(kBeforeMax) + " entries");
      });
    }
    if (field == 3) record.base = ReadId(reader, attempt);
  });
  reader.End();
  std::vector<CheckpointId> all = record.before;
  if (record.base) all.push_back(*record.base);
  if (reader.ok() && !record.base && !record.before.empty()) reader.Fail("has \"before\" without \"base\"");
  if (reader.ok() && std::adjacent_find(all.begin(), all.end(), std::greater_equal<>()) != all.end()) {
    reader.Fail("is not in ascending order");
  }
  if (!reader.ok()) return reader.fault();
  return record;
}

}  // namespace glim::checkpoint
