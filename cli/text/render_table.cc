#include "cli/text/render_table.h"

#include <algorithm>

#include "cli/text/text.h"
#include "sdk/base/check.h"

namespace glim::cli {
namespace {

constexpr int kGap = 2;

std::string Blanks(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

}  // namespace

void Table::AddRow(std::vector<Cell> cells) {
  GLIM_CHECK(cells.size() == columns_.size(), "a row has a cell for every column");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].text = Escaped(cells[i].text);
    if (columns_[i].width_max > 0) cells[i].text = Shorten(cells[i].text, columns_[i].width_max);
  }
  rows_.push_back(std::move(cells));
}

std::string Table::Render(bool colour, int indent) const {
  std::vector<std::vector<Cell>> lines;
  lines.emplace_back();
  for (const Column& column : columns_) lines.front().emplace_back(column.title, Style::kBold);
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<int> widths(columns_.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(line[i].text));
  }

  std::string out;
  for (const auto& line : lines) {
    std::string text = Blanks(indent);
    int pending = 0;  // blanks that are written only if something follows
    for (std::size_t i = 0; i < line.size(); ++i) {
      const int padding = widths[i] - DisplayWidth(line[i].text);
      if (columns_[i].right) pending += padding;
      if (!line[i].text.empty()) {
        text += Blanks(pending) + Tint(line[i].text, line[i].style, colour);
        pending = 0;
      }
      if (!columns_[i].right) pending += padding;
      pending += kGap;
    }
    out += text + "\n";
  }
  return out;
}

}  // namespace glim::cli
