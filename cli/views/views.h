// What the commands show as tables: messages of the API in, text for a terminal out. Pure: the present is handed in.
#pragma once

#include <string>
#include <vector>

#include "cli/receipt.h"
#include "glim/v1/client_api.pb.h"
#include "glim/v1/job.pb.h"
#include "glim/v1/node.pb.h"
#include "sdk/base/time.h"

namespace glim::cli {

std::string QueueTable(const std::vector<glim::v1::Job>& jobs, TimePoint now, bool colour);
std::string NodesTable(const std::vector<glim::v1::Node>& nodes, TimePoint now, bool colour);
// All blockers with their amounts; for a job that is not waiting, how it stands.
std::string WhyText(const glim::v1::Job& job, bool colour);
// The job, then attempt by attempt with nodes and receipts.
std::string StatusText(const glim::v1::Job& job, const std::vector<Receipt>& receipts, TimePoint now, bool colour);
// One line and a newline: time, of whom, what, why.
std::string EventLine(const glim::v1::Event& event, bool colour);
std::string HistoryTable(const std::vector<glim::v1::EndedJob>& jobs, TimePoint now, bool colour);

}  // namespace glim::cli
