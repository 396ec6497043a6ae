#include "cli/text/render_json.h"

#include "cli/text/gpus.h"
#include "cli/text/text.h"

namespace glim::cli {

Json JobJson(const glim::v1::Job& job) {
  Json object = MessageJson(job);
  object["gpus"] = GpusOf(job);
  object["gpus_simulated"] = HasSimulatedGpus(job);
  return object;
}

std::string DumpJson(const Json& document) {
  return EscapeJsonForTerminal(document.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace glim::cli
