#include "sdk/base/line_pages.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sdk/base/line_search.h"

namespace glim {
namespace {

constexpr std::int64_t kContextBytes = std::int64_t{64} << 10;  // that are looked at for it, on each side

class Search {
 public:
  Search(const LineSource& log, const LineQuery& query)
      : log_(log), query_(query), lines_(query.word, query.ignore_case), context_(query.word, query.ignore_case) {}

  Result<LinePage> Run() {
    const std::int64_t begin = query_.newest_first ? log_.end() : log_.begin();
    at_ = query_.offset == kFromWhereItBegins ? begin : std::clamp(query_.offset, log_.begin(), log_.end());
    while (!full_ && (query_.newest_first ? at_ > log_.begin() : at_ < log_.end())) {
      const auto bytes = static_cast<std::size_t>(
          std::min(query_.window_bytes, query_.newest_first ? at_ - log_.begin() : log_.end() - at_));
      if (query_.go_on && !query_.go_on(bytes)) break;
      if (Status status = query_.newest_first ? Back(bytes) : Forth(bytes); !status.ok()) return status;
    }
    page_.next = at_;
    page_.done = !full_ && (query_.newest_first ? at_ <= log_.begin() : at_ >= log_.end());
    for (auto& [offset, line] : found_) page_.lines.push_back(std::move(line));
    if (query_.newest_first) std::reverse(page_.lines.begin(), page_.lines.end());
    return std::move(page_);
  }

 private:
  // So many bytes from there on, into the window.
  Status ReadWindow(std::int64_t offset, std::size_t bytes) {
    window_.resize(bytes);
    const Result<std::size_t> read = log_.Read(offset, window_);
    if (!read.ok()) return read.status();
    window_.resize(*read);
    page_.searched_bytes += static_cast<std::int64_t>(*read);
    lines_.SetText(window_);
    return Status::Ok();
  }

  // Of a window that ends within a line that line comes with the next one, or, where it has no other, the part of it
  // that could be the beginning of the word.
  std::size_t WholeLines(std::int64_t offset) const {
    if (offset + static_cast<std::int64_t>(window_.size()) >= log_.end()) return window_.size();
    const std::size_t newline = window_.rfind('\n');
    if (newline != std::string::npos) return newline + 1;
    return window_.size() - std::min(window_.size() - 1, lines_.word_bytes() - 1);
  }

  Status Forth(std::size_t bytes) {
    const std::int64_t begin = at_;
    if (Status status = ReadWindow(begin, bytes); !status.ok()) return status;
    if (window_.empty()) {  // somebody made it shorter
      at_ = log_.end();
      return Status::Ok();
    }
    const std::size_t whole = WholeLines(begin);
    for (std::size_t from = 0;;) {
      const std::optional<LineHit> hit = lines_.Next(from);
      if (!hit || hit->begin >= whole) break;
      if (!Take(begin, *hit)) {
        at_ = begin + static_cast<std::int64_t>(hit->begin);
        return Status::Ok();
      }
      from = hit->end + 1;
    }
    at_ = begin + static_cast<std::int64_t>(whole);
    return Status::Ok();
  }

  // The window before `at_`, from the first line on that begins in it.
  Status Back(std::size_t bytes) {
    const std::int64_t begin = at_ - static_cast<std::int64_t>(bytes);
    if (Status status = ReadWindow(begin, bytes); !status.ok()) return status;
    std::size_t first = 0;
    if (begin > log_.begin()) {
      const std::size_t newline = window_.find('\n');
      // A window within one line: what comes before it overlaps by the word's length.
      if (newline != std::string::npos && newline + 1 < window_.size()) first = newline + 1;
    }
    std::vector<LineHit> hits;
    for (std::size_t from = first;;) {
      const std::optional<LineHit> hit = lines_.Next(from);
      if (!hit) break;
      hits.push_back(*hit);
      from = hit->end + 1;
    }
    for (auto hit = hits.rbegin(); hit != hits.rend(); ++hit) {
      if (!Take(begin, *hit)) {
        at_ = std::min(at_, begin + static_cast<std::int64_t>(hit->end) + 1);
        return Status::Ok();
      }
    }
    const std::int64_t overlap = first == 0 && begin > log_.begin()
                                     ? static_cast<std::int64_t>(std::min(window_.size(), lines_.word_bytes())) - 1
                                     : 0;
    at_ = std::min(at_ - 1, begin + static_cast<std::int64_t>(first) + overlap);
    return Status::Ok();
  }

  // False: the page has no room for it.
  bool Take(std::int64_t begin, const LineHit& hit) {
    if (page_.matches >= query_.lines_max) return Full();
    const std::string_view line = std::string_view(window_).substr(hit.begin, hit.end - hit.begin);
    std::vector<FoundText> more;
    const std::int64_t offset = begin + static_cast<std::int64_t>(hit.begin);
    more.push_back(Shown(offset, line, hit.word - hit.begin, true));
    if (query_.context > 0) AddContext(offset, begin + static_cast<std::int64_t>(hit.end), &more);
    std::size_t bytes = 0;
    for (const FoundText& one : more) bytes += found_.contains(one.offset) ? 0 : one.text.size();
    if (page_.matches > 0 && page_.bytes + bytes > query_.bytes_max) return Full();
    for (FoundText& one : more) found_[one.offset] = std::move(one);
    page_.bytes += bytes;
    ++page_.matches;
    return true;
  }
  bool Full() {
    full_ = true;
    return false;
  }

  static FoundText Shown(std::int64_t offset, std::string_view line, std::size_t keep, bool match) {
    ShownLine shown = ShowLine(line, keep);
    return {offset, std::move(shown.text), shown.cut, match};
  }

  // The lines beside one that begins and ends there: as far as they lie within kContextBytes.
  void AddContext(std::int64_t line, std::int64_t end, std::vector<FoundText>* out) {
    const std::int64_t begin = std::max(log_.begin(), line - kContextBytes);
    std::string text = ReadText(begin, line);
    std::string_view before = text;
    if (begin > log_.begin()) {
      const std::size_t newline = before.find('\n');
      before.remove_prefix(newline == std::string_view::npos ? before.size() : newline + 1);
    }
    for (std::uint32_t i = 0; i < query_.context && !before.empty(); ++i) {
      before.remove_suffix(1);  // the newline
      const std::size_t newline = before.rfind('\n');
      const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
      out->push_back(Beside(line - static_cast<std::int64_t>(text.size()) + (before.data() - text.data()) +
                                static_cast<std::int64_t>(start),
                            before.substr(start)));
      before = before.substr(0, start);
    }
    if (end >= log_.end()) return;
    text = ReadText(end + 1, std::min(log_.end(), end + 1 + kContextBytes));
    std::string_view after = text;
    std::int64_t offset = end + 1;
    for (std::uint32_t i = 0; i < query_.context && !after.empty(); ++i) {
      const std::size_t newline = std::min(after.find('\n'), after.size());
      out->push_back(Beside(offset, after.substr(0, newline)));
      const std::size_t size = std::min(newline + 1, after.size());
      offset += static_cast<std::int64_t>(size);
      after.remove_prefix(size);
    }
  }
  FoundText Beside(std::int64_t offset, std::string_view line) {
    context_.SetText(line);
    const std::optional<LineHit> hit = context_.Next(0);
    return Shown(offset, line, hit ? hit->word : 0, hit.has_value());
  }
  std::string ReadText(std::int64_t begin, std::int64_t end) const {
    std::string text(static_cast<std::size_t>(std::max<std::int64_t>(0, end - begin)), '\0');
    const Result<std::size_t> read = log_.Read(begin, text);
    text.resize(read.ok() ? *read : 0);
    return text;
  }

  const LineSource& log_;
  const LineQuery& query_;
  LineSearch lines_, context_;
  std::string window_;
  std::int64_t at_ = 0;
  bool full_ = false;
  std::map<std::int64_t, FoundText> found_;
  LinePage page_;
};

}  // namespace

Result<LinePage> SearchLines(const LineSource& source, const LineQuery& query) { return Search(source, query).Run(); }

}  // namespace glim
