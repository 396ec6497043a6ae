// What `why` and `plan` say alike about a job that does not start now, and about a start. Pure.
#pragma once

#include <string>

#include "glim/v1/client_api.pb.h"
#include "sdk/base/time.h"

namespace glim::cli {

// REASON, HAVE, NEED, HELD BY, WHY.
std::string BlockersTable(const google::protobuf::RepeatedPtrField<glim::v1::Blocker>& blockers, bool colour,
                          int indent);

// Who is before it, the estimate as a range, the promised bound: a line each, indented.
std::string OutlookLines(const glim::v1::Outlook& outlook, TimePoint now, int indent);

// Those who are interrupted: JOB, NAME, USER, PRIORITY, COST, SINCE SAVE. Empty where there are none.
std::string VictimsTable(const glim::v1::PlannedStart& start, bool colour, int indent);

}  // namespace glim::cli
