// What of a job, of one that has ended, or of a user is for its owner, the admins of its team and operators alone: it
// is taken out of the message that others get. A field that is not named as everybody's is private, also one to come.
//
// Pure functions.
#pragma once

#include "glim/v1/admin_api.pb.h"
#include "glim/v1/client_api.pb.h"
#include "glim/v1/job.pb.h"
#include "glim/v1/node.pb.h"

namespace glim::server {

void RemovePrivateParts(v1::Job* job);
void RemovePrivateParts(v1::EndedJob* job);
void RemovePrivateParts(v1::AccountUser* user);
// What went wrong last on a node quotes what a job said there: operators alone.
void RemovePrivateParts(v1::Node* node);

}  // namespace glim::server
