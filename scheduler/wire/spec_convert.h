// A job's spec between the wire and the core, for the server and the command line. Pure.
#pragma once

#include "glim/v1/job.pb.h"
#include "scheduler/core/model/spec.h"

namespace glim::wire {

// What is empty or 0 in the message was not said, and gets the core's default; words that mean nothing are refused with
// the field's path. Amounts and names are ValidateSpec's business.
Result<core::JobSpec> SpecFromProto(const v1::JobSpec& proto);

void SpecToProto(const core::JobSpec& spec, v1::JobSpec* proto);
void MountsToProto(const core::JobSpec& spec, google::protobuf::RepeatedPtrField<v1::Mount>* mounts);
void LimitsToProto(const core::TaskLimits& limits, v1::TaskLimits* proto);

}  // namespace glim::wire
