#include "nodeagent/metrics/agent_metrics.h"

#include <prometheus/collectable.h>
#include <sys/statvfs.h>

#include <exception>
#include <utility>
#include <vector>

namespace glim::nodeagent {
namespace {

// Read when a scrape comes: nothing else asks for it.
class DiskRoom final : public prometheus::Collectable {
 public:
  explicit DiskRoom(std::string folder) : folder_(std::move(folder)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    struct statvfs room {};
    if (::statvfs(folder_.c_str(), &room) != 0) return {};
    const auto bytes = [&](std::uint64_t blocks) { return static_cast<double>(blocks * room.f_frsize); };
    return {Gauge("glim_agent_state_disk_free_bytes", "Room on the disk of the agent's state folder.",
                  bytes(room.f_bavail)),
            Gauge("glim_agent_state_disk_size_bytes", "Size of that disk.", bytes(room.f_blocks))};
  }

 private:
  static prometheus::MetricFamily Gauge(const char* name, const char* help, double value) {
    prometheus::MetricFamily family;
    family.name = name;
    family.help = help;
    family.type = prometheus::MetricType::Gauge;
    family.metric.emplace_back();
    family.metric.back().gauge.value = value;
    return family;
  }

  const std::string folder_;
};

}  // namespace

AgentMetrics::AgentMetrics() : tasks_(registry_.get()) {
  connected_ = &prometheus::BuildGauge()
                    .Name("glim_agent_connected")
                    .Help("1 while the agent's stream to the scheduler is open.")
                    .Register(*registry_)
                    .Add({});
  connects_ = &prometheus::BuildCounter()
                   .Name("glim_agent_connects_total")
                   .Help("Streams to the scheduler that the agent has opened.")
                   .Register(*registry_)
                   .Add({});
}

Result<std::unique_ptr<AgentMetrics>> AgentMetrics::Start(const std::string& address, const std::string& state_dir,
                                                          const std::string& version) {
  std::unique_ptr<AgentMetrics> metrics(new AgentMetrics());
  prometheus::BuildGauge()
      .Name("glim_agent_build_info")
      .Help("1, with the version as a label.")
      .Register(*metrics->registry_)
      .Add({{"version", version}})
      .Set(1);
  try {
    metrics->exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
    metrics->port_ = metrics->exposer_->GetListeningPorts().at(0);
  } catch (const std::exception& e) {
    return Status(StatusCode::kUnavailable, "cannot serve metrics on " + address + ": " + e.what())
        .WithReason("BIND_FAILED")
        .WithField("--metrics")
        .WithFix("choose another port");
  }
  metrics->disk_ = std::make_shared<DiskRoom>(state_dir);
  metrics->exposer_->RegisterCollectable(metrics->registry_);
  metrics->exposer_->RegisterCollectable(metrics->disk_);
  return metrics;
}

void AgentMetrics::SetConnected(bool connected) {
  connected_->Set(connected ? 1 : 0);
  if (connected) connects_->Increment();
}

}  // namespace glim::nodeagent
