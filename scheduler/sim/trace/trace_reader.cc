#include "scheduler/sim/trace/trace_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "sdk/io/read_file.h"

namespace glim::sim {
namespace {

constexpr std::size_t kTraceBytesMax = std::size_t{1} << 30;
constexpr std::size_t kLineBytesMax = 4096;
constexpr std::size_t kJobsMax = 10'000'000;
constexpr std::size_t kUserMax = 64;
constexpr std::uint32_t kGpusPerNode = 8;
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

Result<Row::Columns> ReadHeader(std::string_view line) {
  Row::Columns columns;
  const std::vector<std::string_view> names = Split(line);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!columns.emplace(std::string(names[i]), i).second) {
      return Refuse(1, std::string(names[i].substr(0, 40)), "is there twice", "keep one");
    }
  }
  for (const char* needed : {"job_id", "submit_s", "duration_s", "nodes"}) {
    if (columns.contains(needed)) continue;
    return Refuse(1, needed, "is missing",
                  "begin the file with a line of names, such as job_id,submit_s,duration_s,nodes");
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
  return job;
}

}  // namespace

Result<std::vector<TraceJob>> ParseTrace(std::string_view text) {
  std::vector<TraceJob> jobs;
  Row::Columns columns;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.size() > kLineBytesMax) {
      return Refuse(number, "", "is longer than " + std::to_string(kLineBytesMax) + " bytes", "give a CSV file");
    }
    if (number == 1) {
      auto header = ReadHeader(line);
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
    auto job = ReadJob(Row(number, columns, std::move(cells)));
    if (!job.ok()) return job.status();
    if (jobs.size() == kJobsMax) return Refuse(number, "", "is one job too many", "cut the trace into parts");
    jobs.push_back(std::move(job).value());
  }
  if (jobs.empty()) return Refuse(1, "", "there is no job in it", "give a line of names, and a line a job");
  std::stable_sort(jobs.begin(), jobs.end(), [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
  return jobs;
}

Result<std::vector<TraceJob>> ReadTrace(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kTraceBytesMax);
  if (text.ok()) return ParseTrace(*text);
  if (text.status().code() == StatusCode::kResourceExhausted) {
    return Status(StatusCode::kResourceExhausted, path + ": is larger than 1 GiB")
        .WithReason("BAD_TRACE")
        .WithFix("cut the trace into parts");
  }
  return Status(StatusCode::kNotFound, path + ": cannot be read")
      .WithReason("BAD_TRACE")
      .WithFix("name a readable CSV file");
}

}  // namespace glim::sim
