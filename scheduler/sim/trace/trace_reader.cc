#include "scheduler/sim/trace/trace_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include "scheduler/core/model/enum_words.h"
#include "sdk/io/read_file.h"

namespace glim::sim {
namespace {

constexpr std::size_t kTraceBytesMax = std::size_t{1} << 30;
constexpr std::size_t kLineBytesMax = 4096;
constexpr std::size_t kJobsMax = 10'000'000;
constexpr std::size_t kUserMax = 64;
constexpr std::uint32_t kGpusPerNode = 8;
constexpr double kGpusPerNodeMax = 1024;
constexpr double kSecondsMax = 100.0 * 365 * 86'400;
constexpr double kNodesMax = 20'000;

Status Refuse(std::size_t line, const std::string& column, const std::string& message, std::string fix) {
  const std::string where = "line " + std::to_string(line) + (column.empty() ? "" : ", column " + column);
  return Status(StatusCode::kInvalidArgument, where + ": " + message)
      .WithReason("BAD_TRACE")
      .WithField(column)
      .WithFix(std::move(fix));
}

std::vector<std::string_view> Split(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

bool IsWord(std::string_view text) {
  return !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

// One line of the file, asked by the names of its columns.
class Row {
 public:
  using Columns = std::map<std::string, std::size_t, std::less<>>;

  Row(std::size_t line, const Columns& columns, std::vector<std::string_view> cells)
      : line_(line), columns_(columns), cells_(std::move(cells)) {}

  std::string_view Text(std::string_view column) const {
    const auto at = columns_.find(column);
    return at == columns_.end() ? std::string_view() : cells_[at->second];
  }

  // Of an empty cell: none, or a refusal if it is needed.
  Result<std::optional<double>> Number(const std::string& column, double low, double high, bool needed) const {
    const std::string_view text = Text(column);
    const auto plain = [](double x) {
      std::ostringstream out;
      out << std::fixed << x;
      return out.str().substr(0, out.str().find('.'));
    };
    const std::string range = "use a number from " + plain(low) + " to " + plain(high);
    if (text.empty()) {
      if (needed) return Refuse(line_, column, "is empty", range);
      return std::optional<double>();
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
      return Refuse(line_, column, "'" + std::string(text.substr(0, 40)) + "' is not a number", range);
    }
    if (value < low || value > high) {
      return Refuse(line_, column, std::string(text.substr(0, 40)) + " is out of range", range);
    }
    return std::optional<double>(value);
  }

  std::size_t line() const { return line_; }

 private:
  const std::size_t line_;
  const Columns& columns_;
  const std::vector<std::string_view> cells_;
};

constexpr std::array kTraceColumns = {"job_id", "submit_s", "duration_s", "nodes"};
constexpr std::array kQuotaColumns = {"of", "subject", "pool", "class", "nodes"};
constexpr std::array kNodeColumns = {"name", "pool", "zone", "leaf", "gpus"};

Result<Row::Columns> ReadHeader(std::string_view line, std::span<const char* const> needed_columns,
                                const char* example) {
  Row::Columns columns;
  const std::vector<std::string_view> names = Split(line);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!columns.emplace(std::string(names[i]), i).second) {
      return Refuse(1, std::string(names[i].substr(0, 40)), "is there twice", "keep one");
    }
  }
  for (const char* needed : needed_columns) {
    if (columns.contains(needed)) continue;
    return Refuse(1, needed, "is missing", std::string("begin the file with a line of names, such as ") + example);
  }
  return columns;
}

Duration FromSeconds(double seconds) { return Milliseconds(std::llround(seconds * 1000)); }

Status ReadSize(const Row& row, TraceJob* job) {
  const auto gpus = row.Number("gpus", 1, kNodesMax * kGpusPerNode, false);
  if (!gpus.ok()) return gpus.status();
  const auto nodes = row.Number("nodes", 1, kNodesMax, !*gpus);
  if (!nodes.ok()) return nodes.status();
  const double wanted = *nodes ? **nodes : std::ceil(**gpus / kGpusPerNode);
  if (wanted != std::floor(wanted)) return Refuse(row.line(), "nodes", "is not whole", "give whole nodes");
  job->nodes = static_cast<std::uint32_t>(wanted);
  if (*gpus) job->gpus_per_node = std::min(kGpusPerNode, static_cast<std::uint32_t>(std::ceil(**gpus / wanted)));
  return Status::Ok();
}

// What only a cluster's own history has.
Status ReadPlace(const Row& row, TraceJob* job) {
  for (const auto& [column, into] : {std::pair("team", &job->team), std::pair("pool", &job->pool)}) {
    const std::string_view text = row.Text(column);
    if (text.empty()) continue;
    if (!IsWord(text) || text.size() > kUserMax) {
      return Refuse(row.line(), column, "is no name", "use up to 64 letters, digits, '.', '_' and '-', or nothing");
    }
    *into = text;
  }
  if (const std::string_view word = row.Text("class"); !word.empty()) {
    const auto priority = core::FromWord<core::PriorityClass>(word);
    if (!priority) return Refuse(row.line(), "class", "is no priority class", "use low, normal, high, ... or nothing");
    job->priority = *priority;
  }
  const auto gpus = row.Number("gpus_per_node", 0, kGpusPerNodeMax, false);
  if (!gpus.ok()) return gpus.status();
  job->gpus_asked = static_cast<std::uint32_t>(gpus->value_or(0));
  const auto counted = row.Number("counted", 0, 1, false);
  if (!counted.ok()) return counted.status();
  job->counted = counted->value_or(1) != 0;
  return Status::Ok();
}

Result<TraceJob> ReadJob(const Row& row) {
  TraceJob job;
  const std::string_view id = row.Text("job_id");
  job.name = IsWord(id) ? std::string(id) : "line-" + std::to_string(row.line());
  const std::string_view user = row.Text("user");
  if (!user.empty() && (!IsWord(user) || user.size() > kUserMax)) {
    return Refuse(row.line(), "user", "is no name of a user",
                  "use up to 64 letters, digits, '.', '_' and '-', or nothing");
  }
  job.user = user.empty() ? "trace" : std::string(user);
  const auto submit = row.Number("submit_s", 0, kSecondsMax, true);
  if (!submit.ok()) return submit.status();
  const auto duration = row.Number("duration_s", 0, kSecondsMax, true);
  if (!duration.ok()) return duration.status();
  const auto walltime = row.Number("walltime_s", 0, kSecondsMax, false);
  if (!walltime.ok()) return walltime.status();
  if (Status s = ReadSize(row, &job); !s.ok()) return s;
  job.submit = FromSeconds(**submit);
  job.duration = std::max(Seconds(1), FromSeconds(**duration));
  job.walltime = FromSeconds(walltime->value_or(0));
  if (Status s = ReadPlace(row, &job); !s.ok()) return s;
  return job;
}

// Hands every line but the first to `take`.
template <typename Take>
Status EachRow(std::string_view text, std::span<const char* const> needed, const char* example, const Take& take) {
  Row::Columns columns;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.size() > kLineBytesMax) {
      return Refuse(number, "", "is longer than " + std::to_string(kLineBytesMax) + " bytes", "give a CSV file");
    }
    if (number == 1) {
      auto header = ReadHeader(line, needed, example);
      if (!header.ok()) return header.status();
      columns = std::move(header).value();
      continue;
    }
    if (line.empty() || line == "\r") continue;
    std::vector<std::string_view> cells = Split(line);
    if (cells.size() != columns.size()) {
      return Refuse(
          number, "",
          "has " + std::to_string(cells.size()) + " columns, the first line has " + std::to_string(columns.size()),
          "give every line as many");
    }
    if (Status s = take(Row(number, columns, std::move(cells))); !s.ok()) return s;
  }
  return Status::Ok();
}

Result<std::string> ReadCsv(const std::string& path) {
  Result<std::string> text = ReadFile(path, kTraceBytesMax);
  if (text.ok()) return text;
  if (text.status().code() == StatusCode::kResourceExhausted) {
    return Status(StatusCode::kResourceExhausted, path + ": is larger than 1 GiB")
        .WithReason("BAD_TRACE")
        .WithFix("cut the trace into parts");
  }
  return Status(StatusCode::kNotFound, path + ": cannot be read")
      .WithReason("BAD_TRACE")
      .WithFix("name a readable CSV file");
}

}  // namespace

Result<std::vector<TraceJob>> ParseTrace(std::string_view text) {
  std::vector<TraceJob> jobs;
  const Status read = EachRow(text, kTraceColumns, "job_id,submit_s,duration_s,nodes", [&](const Row& row) {
    auto job = ReadJob(row);
    if (!job.ok()) return job.status();
    if (jobs.size() == kJobsMax) return Refuse(row.line(), "", "is one job too many", "cut the trace into parts");
    jobs.push_back(std::move(job).value());
    return Status::Ok();
  });
  if (!read.ok()) return read;
  if (jobs.empty()) return Refuse(1, "", "there is no job in it", "give a line of names, and a line a job");
  std::stable_sort(jobs.begin(), jobs.end(), [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
  return jobs;
}

Result<std::vector<TraceNode>> ParseNodes(std::string_view text) {
  std::vector<TraceNode> nodes;
  const Status read = EachRow(text, kNodeColumns, "name,pool,zone,leaf,gpus", [&](const Row& row) {
    if (nodes.size() == kNodesMax) return Refuse(row.line(), "", "is one node too many", "give at most 20000");
    TraceNode& node = nodes.emplace_back();
    for (const auto& [column, into] : {std::pair("name", &node.name), std::pair("pool", &node.pool),
                                       std::pair("zone", &node.zone), std::pair("leaf", &node.leaf)}) {
      *into = row.Text(column);
      if (!IsWord(*into)) return Refuse(row.line(), column, "is no name", "use letters, digits, '.', '_' and '-'");
    }
    const auto gpus = row.Number("gpus", 0, kGpusPerNodeMax, true);
    if (gpus.ok()) node.gpus = static_cast<std::uint32_t>(**gpus);
    return gpus.status();
  });
  if (!read.ok()) return read;
  if (nodes.empty()) return Refuse(1, "", "there is no node in it", "give a line of names, and a line a node");
  return nodes;
}

Result<std::vector<core::AccountChange>> ParseQuotas(std::string_view text) {
  std::vector<core::AccountChange> rows;
  const Status read = EachRow(text, kQuotaColumns, "of,subject,pool,class,nodes", [&](const Row& row) {
    const std::string of(row.Text("of")), subject(row.Text("subject"));
    const auto nodes = row.Number("nodes", 0, core::kQuotaNodesMax, true);
    if (!nodes.ok()) return nodes.status();
    const auto amount = static_cast<std::uint32_t>(**nodes);
    if (of == "team_weight") {
      rows.push_back({core::Team{subject, amount}});
      return Status::Ok();
    }
    const auto whose = core::FromWord<core::QuotaOf>(of);
    if (!whose) return Refuse(row.line(), "of", "is nobody who has a quota", "use user, team, team_user, ...");
    const auto priority = core::FromWord<core::PriorityClass>(row.Text("class"));
    if (!priority) return Refuse(row.line(), "class", "is no priority class", "use low, normal, high, ...");
    core::QuotaGroup group{*whose, subject};
    if (!row.Text("pool").empty()) group.pool = row.Text("pool");
    rows.push_back({core::QuotaRow{group, *priority, amount}});
    return Status::Ok();
  });
  if (!read.ok()) return read;
  return rows;
}

Result<std::vector<TraceNode>> ReadNodes(const std::string& path) {
  const auto text = ReadCsv(path);
  if (!text.ok()) return text.status();
  return ParseNodes(*text);
}

Result<std::vector<core::AccountChange>> ReadQuotas(const std::string& path) {
  const auto text = ReadCsv(path);
  if (!text.ok()) return text.status();
  return ParseQuotas(*text);
}

Result<std::vector<TraceJob>> ReadTrace(const std::string& path) {
  const auto text = ReadCsv(path);
  if (!text.ok()) return text.status();
  return ParseTrace(*text);
}

}  // namespace glim::sim
