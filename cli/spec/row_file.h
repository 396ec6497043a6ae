// Rows that operators keep in a file: pools, zones, links, users, teams and quotas (docs/operations/layout.md), as
// `glim admin pool get` and its like print them. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "glim/v1/layout_api.pb.h"
#include "sdk/base/result.h"
#include "sdk/yaml/tree.h"

namespace glim::cli {

using RowKind = glim::v1::RowChange::RowCase;

// Where a row stands, for what is found out about it later.
struct RowPlace {
  yaml::Mark mark;
  std::string path;  // "teams[2]"
};

struct RowFile {
  std::vector<glim::v1::RowChange> rows;  // each whole: what the file leaves out of one has its default
  std::vector<RowPlace> places;           // of each of these
  std::map<RowKind, std::size_t> counts;  // of the sections that the file has, empty ones too
};

// A refusal names line, column, field, fault and mend. Two rows of one name are refused.
Result<RowFile> ReadRowFile(const std::string& text, const std::string& source);

// "pool", and "pools", which is the section of a file.
const char* WordOf(RowKind kind);
std::string SectionOf(RowKind kind);
// What tells rows apart, as people read it: "pool a100", "link A-B", "quota user:kim high", "quota team:v low in a100".
std::string NameOfRow(const glim::v1::RowChange& row);
// "user:kim", "team-user:vision", "default-user".
std::string SubjectOfQuota(const glim::v1::AccountQuota& quota);
void FillSubject(const std::string& word, glim::v1::AccountQuota* quota);
// The name of a class that goes by name or number ("30" is high); a refusal if there is none.
Result<std::string> ClassName(const std::string& word);

}  // namespace glim::cli
