// What `get`, `diff` and `set` of pools, zones, links, users, teams and quotas share: rows of one kind as the scheduler
// has them, what a file differs from them, and changes of many rows at once. Main thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/commands/confirm.h"
#include "cli/spec/row_file.h"

namespace glim::cli {

struct RowOptions {
  std::string file;  // "-": standard input
  bool prune = false;
  ChangeOptions change;
  std::vector<std::string> names;
};
using RowOptionsPtr = std::shared_ptr<RowOptions>;

// --file, --prune, -y and --dry-run.
void AddFileOptions(Syntax set, const RowOptionsPtr& options);

// `get` and `diff` of a kind of rows.
void AddGetAndDiff(Syntax group, Selection* selection, RowKind kind, const std::string& example_name);

// A row is given by its words, or rows by --file: one of them, and whole. `part`: only some words are there; `words`:
// those of an example.
Status CheckOneOrFile(RowKind kind, bool one, bool part, const RowOptions& options, const std::string& words);

// `set --file`: shows what differs, asks, and makes the rows what the file says.
Status RunSetFile(CommandContext& context, RowKind kind, const RowOptions& options);

// Shows what this change, which puts or removes a whole row, makes different, and what `also` comes of it in words;
// asks, and makes it.
Status ChangeRow(CommandContext& context, const glim::v1::RowChange& change, const ChangeOptions& options,
                 const std::string& also = "");

// The row of that name as the scheduler has it, or `fresh` itself.
Result<glim::v1::RowChange> RowToChange(CommandContext& context, const glim::v1::RowChange& fresh);

}  // namespace glim::cli
