// Any bytes as a rank's line: a message whose numbers are in range, or a refusal that fits into the answer.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "nodeagent/task/task_message.h"
#include "tests/fuzz/holds.h"

namespace glim::nodeagent {
namespace {

using fuzz::Holds;

constexpr std::int64_t kStepMax = std::int64_t{1} << 53;
constexpr std::int64_t kMillisMax = 1'000'000'000'000;  // 1e9 s

void CheckMillis(std::int64_t ms) { Holds(ms >= 0 && ms <= kMillisMax, "a duration"); }

struct CheckBody {
  void operator()(const RefusedMessage& m) const {
    Holds(!m.error.empty() && m.error.size() <= 200, "a refusal is short and not empty", m.error);
  }
  void operator()(const HelloMessage& m) const { Holds(m.pid >= 0 && m.sdk.size() <= 256, "hello"); }
  void operator()(const ProgressMessage& m) const {
    Holds(m.step >= -1 && m.step <= kStepMax, "step");
    CheckMillis(m.step_ms);
  }
  void operator()(const AckMessage& m) const { Holds(m.agreement >= 1 && m.hold >= -1 && m.hold <= kStepMax, "ack"); }
  void operator()(const NeedsMessage& m) const {
    Holds(m.agreement >= 1, "needs");
    CheckMillis(m.extend_ms);
  }
  void operator()(const SavedMessage& m) const {
    Holds(m.step >= 0 && m.step <= kStepMax, "step");
    Holds(m.path.size() <= kSavePathBytesMax, "path", m.path);
    Holds(m.bytes >= 0 && m.shard < m.shards, "saved");
    CheckMillis(m.duration_ms);
  }
  void operator()(const RestoredMessage& m) const {
    Holds(m.step >= -1 && m.step <= kStepMax, "step");
    CheckMillis(m.duration_ms);
  }
  void operator()(const RestoreFailedMessage& m) const {
    Holds(m.step >= -1 && m.step <= kStepMax, "step");
    Holds(m.path.size() <= kSavePathBytesMax, "path", m.path);
    Holds(!m.error.empty() && m.error.size() <= kTaskLineBytesMax, "an error has words");
  }
  void operator()(const SaveFailedMessage& m) const {
    Holds(m.step >= -1 && m.step <= kStepMax, "step");
    Holds(!m.error.empty() && m.error.size() <= kTaskLineBytesMax, "an error has words");
  }
  void operator()(const LeavingMessage&) const {}
  void operator()(const FinishedMessage&) const {}
};

}  // namespace
}  // namespace glim::nodeagent

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glim::nodeagent;  // NOLINT: one function, all of it about these
  const TaskMessage message = ParseTaskLine({reinterpret_cast<const char*>(data), size});
  const bool refused = std::holds_alternative<RefusedMessage>(message.body);
  glim::fuzz::Holds(refused || (message.seq == 0) == std::holds_alternative<HelloMessage>(message.body),
                    "all but hello have a number");
  std::visit(CheckBody{}, message.body);
  return 0;
}
