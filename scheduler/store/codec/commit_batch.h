// What a list of mutations comes to: the last write of every row, coded, and what is added to the history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/model/transition.h"
#include "sdk/base/status.h"

namespace glim::store {

struct StoredRow {
  std::string_view kind;  // of row_kinds.h
  std::string key;
  std::string body;
};

struct DeletedRow {
  std::string_view kind;
  std::string key;
};

// `history` points into the mutations that the batch was made from, and must not outlive them.
struct CommitBatch {
  std::vector<DeletedRow> deleted;                 // none of them is among `rows`
  std::vector<StoredRow> rows;                     // each once, in the order of the mutations
  std::vector<const core::HistoryEntry*> history;  // likewise
  std::optional<core::PutIds> ids;                 // the highest
};

CommitBatch Coalesce(const std::vector<core::Mutation>& mutations);

// The refusal of a commit under an epoch that is not the newest.
Status StaleEpoch(std::uint64_t given, std::uint64_t newest);

}  // namespace glim::store
