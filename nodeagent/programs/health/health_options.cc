#include "nodeagent/programs/health/health_options.h"

#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

namespace glim::nodeagent::health {

Result<HealthOptions> ParseHealthOptions(int argc, char** argv) {
  HealthOptions options;
  const std::map<std::string_view, std::string*> texts = {
      {"--kmsg", &options.kmsg},  {"--root", &options.root},         {"--state", &options.state},
      {"--nvml", &options.nvml},  {"--smartctl", &options.smartctl}, {"--write", &options.write},
      {"--serve", &options.serve}};
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) return InvalidArgument(std::string(name), std::string(name) + " has no value");
    const auto text = texts.find(name);
    if (text != texts.end()) {
      *text->second = argv[i + 1];
    } else if (name == "--folder") {
      options.folders.emplace_back(argv[i + 1]);
    } else if (name == "--hurry") {
      options.hurry = std::atoi(argv[i + 1]);
    } else if (name == "--smart-every") {
      options.smart_every = std::chrono::seconds(std::atoi(argv[i + 1]));
    } else {
      return InvalidArgument(std::string(name), "unknown option " + std::string(name));
    }
  }
  if (options.root == "/") options.root.clear();
  if (options.hurry < 1 || options.hurry > 1000) return InvalidArgument("--hurry", "--hurry is 1 to 1000");
  if (options.smart_every < std::chrono::seconds(1)) {
    return InvalidArgument("--smart-every", "--smart-every is a number of seconds");
  }
  if (!options.serve.empty() && options.serve != "smart") return InvalidArgument("--serve", "--serve is smart");
  if (options.state.empty() && options.write.empty() && options.serve.empty())
    return InvalidArgument("--state", "--state is missing");
  return options;
}

}  // namespace glim::nodeagent::health
