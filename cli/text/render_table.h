// Plain tables: columns that line up in a terminal's cells, whatever the script. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/text/style.h"

namespace glim::cli {

struct Cell {
  Cell(std::string t) : text(std::move(t)) {}  // NOLINT(google-explicit-constructor): rows read as lists of texts
  Cell(const char* t) : text(t) {}             // NOLINT(google-explicit-constructor)
  Cell(std::string t, Style s) : text(std::move(t)), style(s) {}

  std::string text;
  Style style = Style::kPlain;
};

struct Column {
  std::string title;
  bool right = false;  // numbers line up at their ends
  int width_max = 0;   // longer cells are cut; 0: never
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns (CHECK). Text is escaped here.
  void AddRow(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  // Title line and rows, each indented by `indent`, without blanks at the ends of lines.
  std::string Render(bool colour, int indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace glim::cli
