#include "nodeagent/health/kernel_reader.h"

#include <algorithm>
#include <utility>

#include "nodeagent/health/kernel_line.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::size_t kSeenMax = 4096;

std::int64_t WindowOf(const Finding& finding) { return finding.check == "xid" ? kXidWindowMs : kWindowMs; }

}  // namespace

KernelReader::KernelReader(Begin begin) : begin_(begin), last_(begin.after) {}

void KernelReader::Read(std::string_view record, std::int64_t now_ms) {
  const std::optional<KernelRecord> parsed = ParseKernelRecord(record);
  if (!parsed) return;
  if (begin_.numbered && last_ && parsed->seq <= *last_) return;
  NoteGap(parsed->seq, now_ms);
  last_ = std::max(parsed->seq, last_.value_or(0));
  if (parsed->facility != 0) return;
  if (!begin_.after && parsed->usec < begin_.oldest_usec) return;
  std::optional<Finding> finding = ReadKernelLine(parsed->text);
  if (!finding || (begin_.memory_counters && finding->check.starts_with("memory_ecc_"))) return;
  Hold(std::move(*finding), now_ms);
}

// The kernel keeps the newest lines alone: who reads late finds a gap in the numbers (read() says EPIPE before it).
void KernelReader::NoteGap(std::uint64_t seq, std::int64_t now_ms) {
  if (!last_ || seq <= *last_ + 1) return;
  const std::uint64_t lost = seq - *last_ - 1;
  Finding finding;
  finding.check = "kernel_lines_lost";
  finding.text = "the kernel's log had " + std::to_string(lost) + " more lines, which nobody read in time";
  finding.expected = static_cast<std::int64_t>(lost);
  Hold(std::move(finding), now_ms);
}

void KernelReader::Hold(Finding finding, std::int64_t now_ms) {
  const bool lines = finding.check != "kernel_lines_lost";
  const auto [it, first] = seen_.try_emplace(Key(finding.check, finding.device, finding.code));
  Seen& seen = it->second;
  if (first || (seen.told && now_ms - seen.first_ms >= WindowOf(finding))) {
    finding.value = lines ? 1 : std::exchange(finding.expected, 0);
    finding.unit = "lines";
    seen = {std::move(finding), now_ms, false};
  } else {
    seen.finding.value += lines ? 1 : finding.expected;
    if (seen.finding.pid == 0) seen.finding.pid = finding.pid;
  }
}

std::vector<Finding> KernelReader::Due(std::int64_t now_ms) {
  std::vector<Finding> due;
  for (auto it = seen_.begin(); it != seen_.end();) {
    Seen& seen = it->second;
    if (!seen.told && now_ms - seen.first_ms >= kHoldMs) {
      if (seen.finding.value == 1) seen.finding.unit = "line";
      due.push_back(seen.finding);
      seen.told = true;
    }
    const bool over = seen.told && (now_ms - seen.first_ms >= WindowOf(seen.finding) || seen_.size() > kSeenMax);
    it = over ? seen_.erase(it) : std::next(it);
  }
  return due;
}

std::optional<std::int64_t> KernelReader::NextDue() const {
  std::optional<std::int64_t> next;
  for (const auto& [key, seen] : seen_) {
    if (seen.told) continue;
    const std::int64_t due = seen.first_ms + kHoldMs;
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

std::optional<std::uint64_t> KernelReader::position() const { return NextDue() ? std::nullopt : last_; }

}  // namespace glim::nodeagent::health
