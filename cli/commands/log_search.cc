#include "cli/commands/log_search.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/text/render_json.h"

namespace glim::cli {
namespace {

constexpr std::uint32_t kPage = 1000;

class LinePrinter {
 public:
  LinePrinter(Output* output, const LogSearchOptions& options) : output_(output), options_(options) {}

  // Lines that stand beside others come again on the next page: what has been shown is not shown twice.
  void Take(const glim::v1::SearchLogResponse& page) {
    for (const glim::v1::FoundLine& line : page.lines()) {
      if (!ComesAfterTheLast(line)) continue;
      if (IsOver() && !StandsBesideTheLast(line)) break;
      Separate(line);
      Print(line, page.attempt());
      if (line.match()) ++matches_;
      beside_ = line.match() ? 0 : beside_ + 1;
      last_ = line;
    }
    output_->Flush();
  }
  // Of the lines that hold the word there are as many as were asked for.
  bool IsOver() const { return options_.lines_max != 0 && matches_ >= options_.lines_max; }
  std::uint64_t matches() const { return matches_; }

 private:
  bool ComesAfterTheLast(const glim::v1::FoundLine& line) const {
    if (!last_ || line.rank() != last_->rank()) return true;
    return options_.newest_first ? line.offset() < last_->offset() : line.offset() > last_->offset();
  }

  // Of the last line that is shown with the word the context is shown, too.
  bool StandsBesideTheLast(const glim::v1::FoundLine& line) const {
    return !line.match() && beside_ < options_.context && FollowsTheLast(line);
  }

  bool FollowsTheLast(const glim::v1::FoundLine& line) const {
    const glim::v1::FoundLine* first = &*last_;
    const glim::v1::FoundLine* second = &line;
    if (options_.newest_first) std::swap(first, second);
    const std::int64_t end = first->offset() + static_cast<std::int64_t>(first->text().size());
    return first->rank() == second->rank() && !first->cut() && second->offset() >= end &&
           second->offset() <= end + 2;  // a newline, perhaps behind a carriage return
  }

  // As grep does between lines that do not follow each other.
  void Separate(const glim::v1::FoundLine& line) {
    if (output_->json() || options_.context == 0 || !last_) return;
    if (!FollowsTheLast(line)) output_->Data("--\n");
  }

  void Print(const glim::v1::FoundLine& line, std::uint32_t attempt) {
    if (output_->json()) {
      Json document = NewDocument();
      document["attempt"] = attempt;
      document["rank"] = line.rank();
      document["offset"] = line.offset();
      document["line"] = line.text();
      document["match"] = line.match();
      document["cut"] = line.cut();
      return output_->Data(DumpJson(document));
    }
    const std::string whose = options_.rank ? "" : fmt::format("rank {}{} ", line.rank(), line.match() ? ":" : "-");
    std::string text = whose;
    for (const char c : line.text()) {
      text += c;
      // A progress bar goes on from the begin of the line, where a terminal would lose whose line it is.
      if (c == '\r' && output_->to_terminal() && !options_.raw) text += whose;
    }
    text += line.cut() ? " ...\n" : "\n";
    options_.raw ? output_->Raw(text) : output_->Data(text);
  }

  Output* output_;
  const LogSearchOptions& options_;
  std::optional<glim::v1::FoundLine> last_;
  std::uint64_t matches_ = 0;
  std::uint32_t beside_ = 0;  // lines shown since the last one with the word
};

std::string GapNote(const glim::v1::LogGap& gap) {
  const std::string ranks = gap.ranks() == 1 ? fmt::format("rank {}", gap.rank())
                                             : fmt::format("ranks {} to {}", gap.rank(), gap.rank() + gap.ranks() - 1);
  const std::string node = gap.node().empty() ? "" : fmt::format(" on node {}", gap.node());
  return gap.kept_end() ? fmt::format("{}{}: {}; the end that the scheduler has kept of its log was searched", ranks,
                                      node, gap.why())
                        : fmt::format("{}{}: not searched: {}", ranks, node, gap.why());
}

}  // namespace

Status SearchLogs(CommandContext& context, const LogSearchOptions& options) {
  glim::v1::SearchLogRequest request;
  request.set_job_id(options.job_id);
  request.set_attempt(options.attempt);
  if (options.rank) request.set_rank(*options.rank);
  request.set_word(options.word);
  request.set_ignore_case(options.ignore_case);
  request.set_newest_first(options.newest_first);
  request.set_context(options.context);
  request.set_page_size(options.lines_max == 0 ? kPage : std::min(kPage, options.lines_max));
  LinePrinter printer(&context.output, options);
  std::string last_gap;
  do {
    auto page = context.client.Call(&glim::v1::LogApi::Stub::SearchLog, request);
    if (!page.ok()) return page.status();
    printer.Take(*page);
    for (const glim::v1::LogGap& gap : page->gaps()) {
      std::string note = GapNote(gap);
      if (note != last_gap) context.output.Note(note);
      last_gap = std::move(note);
    }
    request.set_page_token(page->next_page_token());
    if (Status written = context.output.Finish(); !written.ok()) return written;
  } while (!request.page_token().empty() && !printer.IsOver());
  if (printer.matches() == 0) {
    context.output.Note(
        fmt::format("no line holds '{}'; what rotation has dropped of a log is not there to search", options.word));
  }
  return Status::Ok();
}

}  // namespace glim::cli
