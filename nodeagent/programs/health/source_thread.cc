#include "nodeagent/programs/health/source_thread.h"

#include <thread>
#include <utility>

#include "nodeagent/os/boot_clock.h"

namespace glim::nodeagent::health {

SourceThread::SourceThread(Source source, Journal& journal) : source_(std::move(source)), journal_(journal) {
  since_ms_ = BootNow().ms;
  std::thread([this] { Run(); }).detach();
}

void SourceThread::Run() {
  for (Memory memory = journal_.MemoryOf(source_.name);;) {
    since_ms_ = BootNow().ms;
    Looks looks = source_.look(memory);
    since_ms_ = 0;
    looked_ = true;
    journal_.TakeLook(source_.name, std::move(looks), memory);
    std::this_thread::sleep_for(source_.every);
  }
}

std::optional<Finding> SourceThread::Blind() const {
  const std::int64_t since = since_ms_;
  if (since == 0 || BootNow().ms - since <= source_.deadline.count()) return std::nullopt;
  return BlindTo(source_.name, "a look has not come to an end within " + std::to_string(source_.deadline.count()) +
                                   " ms: the driver or the disk hangs");
}

Finding BlindTo(const std::string& source, const std::string& why) {
  Finding finding;
  finding.check = "health_blind";
  finding.device = MakeDevice(source);
  finding.text = MakeText(why);
  return finding;
}

}  // namespace glim::nodeagent::health
