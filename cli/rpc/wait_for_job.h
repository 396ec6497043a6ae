// Waits until a job has ended, however often it is interrupted and restarted on the way.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/rpc/client.h"
#include "cli/rpc/interruption.h"
#include "cli/text/output.h"

namespace glim::cli {

// The job, ended. kDeadlineExceeded with reason WAIT_TIMEOUT once `timeout` is over; a scheduler that goes away for
// less than a minute after it has answered once is waited for.
Result<glim::v1::Job> WaitForJob(Client& client, Interruption& interruption, Output& output, std::uint64_t job_id,
                                 std::optional<Duration> timeout);

// Ok for a job that succeeded; otherwise an error that says how it ended.
Status VerdictOf(const glim::v1::Job& job);

// Prints how the job ended and returns VerdictOf.
Status ReportEnd(const glim::v1::Job& job, Output& output);

}  // namespace glim::cli
