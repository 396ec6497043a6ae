#include "scheduler/gateway/watch/stream_reader.h"

namespace glim::gateway {

std::string StreamReader::IdNow(std::uint64_t epoch) const {
  ResumeId id{epoch, round, seq, shown_hash, {}};
  for (const auto& log : logs) id.logs.push_back(log->place());
  return IdText(WriteResumeId(id));
}

bool StreamReader::Flush() {
  while (!outbox.empty() && sink->Write(outbox.front())) outbox.pop_front();
  return outbox.empty();
}

}  // namespace glim::gateway
