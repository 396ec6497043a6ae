#include "nodeagent/health/finding.h"

#include <iterator>
#include <utility>

#include "sdk/base/cut_text.h"
#include "sdk/base/printable.h"

namespace glim::nodeagent::health {

void Looks::Add(Looks more) {
  std::move(more.events.begin(), more.events.end(), std::back_inserter(events));
  std::move(more.conditions.begin(), more.conditions.end(), std::back_inserter(conditions));
  std::move(more.gpus.begin(), more.gpus.end(), std::back_inserter(gpus));
}

std::string MakeText(std::string_view text) { return CutText(Escaped(text.substr(0, kTextBytesMax)), kTextBytesMax); }

std::string MakeDevice(std::string_view text) { return CutText(MakeText(text), kDeviceBytesMax); }

}  // namespace glim::nodeagent::health
