// What the commands show as tables: messages of the API in, text for a terminal out. Pure: the present is handed in.
//
// Sources: events_view.cc, history_view.cc, nodes_view.cc, plan_view.cc, policy_view.cc, queue_view.cc,
// report_view.cc, status_view.cc, why_view.cc
#pragma once

#include <string>
#include <vector>

#include "cli/views/receipt.h"
#include "glim/v1/admin_api.pb.h"
#include "glim/v1/client_api.pb.h"
#include "glim/v1/job.pb.h"
#include "glim/v1/node.pb.h"
#include "sdk/base/time.h"

namespace glim::cli {

std::string QueueTable(const std::vector<glim::v1::Job>& jobs, TimePoint now, bool colour);
std::string NodesTable(const std::vector<glim::v1::Node>& nodes, TimePoint now, bool colour);
// One node, with what does not fit into a table: the folders that it gives to jobs, its hardware, its health
// (hardware_view.h).
// It takes no other job before it was found good.
bool WaitsToBeMeasured(const glim::v1::Node& node);
std::string NodeText(const glim::v1::Node& node, TimePoint now, bool colour);
// All blockers with their amounts; for a job that is not waiting, how it stands.
std::string WhyText(const glim::v1::Job& job, bool colour);
// All blockers with their amounts, who is before it, when it may start, and with which changes it would start now.
std::string WhyText(const glim::v1::ExplainJobResponse& why, TimePoint now, bool colour);
// Of each job: where it would start and whom it would interrupt, or why and how long it would wait.
std::string PlanText(const glim::v1::PlanJobResponse& plan, TimePoint now, bool colour);
// The job, then attempt by attempt with nodes and receipts.
std::string StatusText(const glim::v1::Job& job, const std::vector<Receipt>& receipts, TimePoint now, bool colour);
// How many of its first attempts the message lacks, for the scheduler no longer keeps them.
std::uint32_t AttemptsLeftOut(const glim::v1::Job& job);
// One line and a newline: time, of whom, what, why.
std::string EventLine(const glim::v1::Event& event, bool colour);
std::string PolicyChangesTable(const std::vector<glim::v1::PolicyChange>& changes, bool colour);
// A row a pool, team, user or job and one of the sum; in GPU-seconds, or in GPU-hours where these are many.
std::string ReportTable(const glim::v1::GetReportResponse& report, bool colour);
// "812.5 GPU-hours: productive 91.0 %, free 6.2 %, ..."; "" for none.
std::string UsesLine(const glim::v1::Uses& uses);
std::string HistoryTable(const std::vector<glim::v1::EndedJob>& jobs, TimePoint now, bool colour);

}  // namespace glim::cli
