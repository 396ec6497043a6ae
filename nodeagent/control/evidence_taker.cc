#include "nodeagent/control/evidence_taker.h"

#include <chrono>
#include <utility>

#include "sdk/base/cut_text.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

// Longer than Gather needs unless /proc itself hangs, and well within the scheduler's patience.
constexpr std::chrono::seconds kEvidenceLimit{45};

}  // namespace

EvidenceTaker::EvidenceTaker(boost::asio::io_context& io, std::string program, std::function<void()> on_answer)
    : program_(std::move(program)), on_answer_(std::move(on_answer)), children_(io) {}

bool EvidenceTaker::IsNew(const TaskKey& key, std::uint32_t question) {
  const auto it = answers_.find(key);
  if (question == 0) {
    if (it != answers_.end()) it->second.text.clear();
    return false;
  }
  return it == answers_.end() || it->second.question != question;
}

void EvidenceTaker::Take(const TaskKey& key, std::uint32_t question, const EvidenceOrder& order, std::string file) {
  Forget(key);
  Answer& answer = answers_[key];
  answer.question = question;
  const auto child = children_.Start({program_, "evidence"}, ToJson(order), kEvidenceLimit,
                                     [this, key, question, file = std::move(file)](const ChildWork::Outcome& outcome) {
                                       OnLooked(key, question, file, outcome);
                                     });
  if (child.ok()) {
    answer.child = *child;
    LogInfo("event=evidence_asked task={} question={} processes={}", ToString(key), question, order.processes.size());
    return;
  }
  LogWarning("event=evidence_not_taken task={} error={}", ToString(key), Quoted(child.status().message()));
  answer.given = true;
  answer.text = "nobody could look: " + child.status().message() + "\n";
}

void EvidenceTaker::OnLooked(const TaskKey& key, std::uint32_t question, const std::string& file,
                             const ChildWork::Outcome& outcome) {
  const auto it = answers_.find(key);
  if (it == answers_.end() || it->second.question != question) return;
  Answer& answer = it->second;
  const std::string whole = LastEvidence(outcome.output);
  answer.given = true;
  answer.text = whole;
  if (!outcome.in_time) answer.text = "who looked at its processes did not come back in time\n" + whole;
  // For people who look on the node; what the scheduler keeps is shorter.
  const Status written = WriteFileAtomically(file, answer.text, Durability::kProcess);
  LogInfo("event=evidence_taken task={} question={} bytes={} in_time={} error={}", ToString(key), question,
          answer.text.size(), outcome.in_time, Quoted(written.message()));
  answer.text = CutText(answer.text, kEvidenceBytesMax);
  on_answer_();
}

void EvidenceTaker::Report(const TaskKey& key, v1::ObservedTask* out) const {
  const auto it = answers_.find(key);
  if (it == answers_.end() || !it->second.given) return;
  out->mutable_evidence()->set_id(it->second.question);
  out->mutable_evidence()->set_text(it->second.text);
}

void EvidenceTaker::Forget(const TaskKey& key) {
  const auto it = answers_.find(key);
  if (it == answers_.end()) return;
  if (!it->second.given) children_.Cancel(it->second.child);
  answers_.erase(it);
}

void EvidenceTaker::Stop() { children_.Stop(); }

}  // namespace glim::nodeagent
