// The receipt of an interrupt: who asked and why, what it cost the interrupted job, and what the preemptor's wait was
// made of. Joins the victim's agreements with the attempts of their preemptors. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/text/render_json.h"
#include "glim/v1/job.pb.h"

namespace glim::cli {

struct Receipt {
  std::uint32_t attempt = 0;  // of the interrupted job
  glim::v1::Agreement agreement;
  std::string save;  // saved, left_unsaved, killed; empty: not known yet, or it went on
  std::int64_t steps_lost = 0;
  bool counts_steps = true;  // the attempt has reported some: else nobody knows what it lost
  // Phases of the wait of the attempt that came in; empty when there is none or it could not be asked.
  std::optional<glim::v1::StartTimes> preemptor;
};

using JobsById = std::map<std::uint64_t, glim::v1::Job>;

// The jobs that interrupted `job`, newest first, without repeats, at most `count_max`.
std::vector<std::uint64_t> PreemptorsOf(const glim::v1::Job& job, std::size_t count_max);

// One for every agreement, in the order of attempts and agreements. `preemptors` holds those that could be asked.
std::vector<Receipt> MakeReceipts(const glim::v1::Job& job, const JobsById& preemptors);

// The lines of a receipt, indented, each with a newline.
std::string ReceiptText(const Receipt& receipt);
Json ReceiptJson(const Receipt& receipt);

}  // namespace glim::cli
