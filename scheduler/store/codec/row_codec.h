// Rows to JSON text and back: the `body` columns of every store. The key (id, job and number ...) is not in the body.
//
// Encoding never fails: text that is not UTF-8 is repaired with U+FFFD, for one odd byte in a message must not stop the
// scheduler. Decoding fails with kDataLoss, naming table, key and field. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include "scheduler/core/model/rows.h"
#include "scheduler/store/contract/ended_job.h"
#include "sdk/base/result.h"

namespace glim::store {

std::string EncodeJob(const core::Job& row);
std::string EncodeAttempt(const core::Attempt& row);
std::string EncodeTask(const core::Task& row);
std::string EncodeNode(const core::Node& row);
std::string EncodeHistory(const core::HistoryEntry& row);
std::string EncodeEndedJob(const EndedJob& row);

Result<core::Job> DecodeJob(core::JobId id, std::string_view body);
Result<core::Attempt> DecodeAttempt(core::AttemptId id, std::string_view body);
Result<core::Task> DecodeTask(core::TaskId id, std::string_view body);
Result<core::Node> DecodeNode(core::NodeId id, std::string_view body);
Result<core::HistoryEntry> DecodeHistory(std::uint64_t seq, std::string_view body);
Result<EndedJob> DecodeEndedJob(core::JobId id, std::string_view body);

// What a text column may hold in every dialect: UTF-8 without NUL.
std::string CleanText(std::string_view text);

}  // namespace glim::store
