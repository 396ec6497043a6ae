// AdminApi's calls about the audit trail. Each opens its call at the door and answers it from the store, by way of the
// strand.
#pragma once

#include "glim/v1/admin_api.pb.h"
#include "scheduler/server/door/call.h"

namespace glim::server {

grpc::ServerUnaryReactor* ListAudit(Door* door, grpc::CallbackServerContext* context,
                                    const v1::ListAuditRequest& request, v1::ListAuditResponse* response);
grpc::ServerUnaryReactor* VerifyAudit(Door* door, grpc::CallbackServerContext* context,
                                      const v1::VerifyAuditRequest& request, v1::VerifyAuditResponse* response);

}  // namespace glim::server
