// AdminApi's calls about budgets. Each opens its call at the door; a change is posted to the strand, and a dry run asks
// the core and changes nothing.
#pragma once

#include "glim/v1/admin_api.pb.h"
#include "scheduler/server/door/call.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

// All are lent, and outlive the call.
grpc::ServerUnaryReactor* ListBudgets(Door* door, SchedulerLoop* loop, grpc::CallbackServerContext* context,
                                      const v1::ListBudgetsRequest& request, v1::ListBudgetsResponse* response);
grpc::ServerUnaryReactor* SetBudget(Door* door, SchedulerLoop* loop, grpc::CallbackServerContext* context,
                                    const v1::SetBudgetRequest& request, v1::SetBudgetResponse* response);

}  // namespace glim::server
