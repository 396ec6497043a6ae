#include "scheduler/server/metrics.h"

#include <exception>
#include <map>
#include <utility>

#include "scheduler/server/convert/protocol.h"
#include "scheduler/server/listen/refused_handshakes.h"

namespace glim::server {
namespace {

const prometheus::Histogram::BucketBoundaries kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                          0.025,  0.05,    0.1,    0.25,  0.5,    1,     5};

prometheus::MetricFamily Gauge(const std::string& name, const std::string& help) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  return family;
}

void Add(prometheus::MetricFamily* family, std::vector<prometheus::ClientMetric::Label> labels, double value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  family->metric.push_back(std::move(metric));
}

prometheus::MetricFamily RefusedByTls() {
  prometheus::MetricFamily family;
  family.name = "glim_tls_refused_total";
  family.help = "Connections to the agents' port that TLS refused for their certificate.";
  family.type = prometheus::MetricType::Counter;
  const RefusedHandshakes counted = CountedHandshakes();
  for (const auto& [reason, count] :
       {std::pair("no_certificate", counted.no_certificate), std::pair("bad_certificate", counted.bad_certificate)}) {
    prometheus::ClientMetric metric;
    metric.label = {{"reason", reason}};
    metric.counter.value = static_cast<double>(count);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

using Counts = std::map<std::pair<std::string, std::string>, std::uint64_t>;

prometheus::MetricFamily ByState(const std::string& name, const std::string& help, const char* label,
                                 const Counts& counts) {
  auto family = Gauge(name, help);
  for (const auto& [key, count] : counts) {
    Add(&family, {{label, key.first}, {"state", key.second}}, static_cast<double>(count));
  }
  return family;
}

class SnapshotGauges final : public prometheus::Collectable {
 public:
  explicit SnapshotGauges(const SchedulerLoop* loop) : loop_(loop) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const SnapshotPtr snapshot = loop_->snapshot();
    Counts jobs, nodes;
    for (const auto& [key, count] : snapshot->counts->jobs) jobs[{key.first, core::ToString(key.second)}] = count;
    for (const auto& [key, count] : snapshot->counts->nodes) nodes[{key.first, core::ToString(key.second)}] = count;
    std::vector<prometheus::MetricFamily> families;
    families.push_back(ByState("glim_jobs", "Jobs that the scheduler keeps, by state.", "pool", jobs));
    families.push_back(ByState("glim_nodes", "Registered nodes, by state.", "zone", nodes));
    families.push_back(Gauge("glim_build_info", "1, with the version as a label."));
    Add(&families.back(), {{"version", kVersion}}, 1);
    families.push_back(Gauge("glim_leader_epoch", "The fencing number of this leader."));
    Add(&families.back(), {}, static_cast<double>(snapshot->epoch));
    families.push_back(Gauge("glim_outage", "1 while so many nodes are silent that none is declared lost."));
    Add(&families.back(), {}, snapshot->outage ? 1 : 0);
    families.push_back(
        Gauge("glim_store_away", "1 while the database cannot be reached, or has no room: nothing can be changed."));
    Add(&families.back(), {}, snapshot->stale_since ? 1 : 0);
    families.push_back(RefusedByTls());
    return families;
  }

 private:
  const SchedulerLoop* loop_;
};

}  // namespace

Metrics::Metrics() {
  pass_ = &prometheus::BuildHistogram()
               .Name("glim_sched_pass_seconds")
               .Help("Taking a batch of events in and planning, without the commit.")
               .Register(*registry_)
               .Add({}, kSeconds);
  commit_ = &prometheus::BuildHistogram()
                 .Name("glim_commit_seconds")
                 .Help("One durable commit of a batch.")
                 .Register(*registry_)
                 .Add({}, kSeconds);
  interrupts_ = &prometheus::BuildCounter()
                     .Name("glim_interrupts_total")
                     .Help("Attempts that an interrupt ended, by how they left.")
                     .Register(*registry_);
  for (const auto result : {core::SaveResult::kSaved, core::SaveResult::kLeftUnsaved, core::SaveResult::kKilled}) {
    interrupts_->Add({{"outcome", core::ToString(result)}});
  }
  calls_ = &prometheus::BuildHistogram()
                .Name("glim_call_seconds")
                .Help("Users' calls, from when the scheduler had the request until its answer was handed over.")
                .Register(*registry_);
}

void Metrics::OnInterruptEnded(core::SaveResult result) {
  const char* outcome = result == core::SaveResult::kNone ? "none" : core::ToString(result);
  interrupts_->Add({{"outcome", outcome}}).Increment();
}

void Metrics::OnCallDone(const Permission& row, double seconds) {
  auto& known = calls_of_.at(static_cast<std::size_t>(&row - kPermissions.data()));
  prometheus::Histogram* histogram = known.load();
  if (histogram == nullptr) {  // of two that come first at once both get the same one
    histogram = &calls_->Add({{"method", std::string(row.method)}}, kSeconds);
    known.store(histogram);
  }
  histogram->Observe(seconds);
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& address, const Metrics& metrics,
                                                            const SchedulerLoop* loop) {
  std::unique_ptr<MetricsServer> server(new MetricsServer());
  try {
    server->exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
    server->port_ = server->exposer_->GetListeningPorts().at(0);
  } catch (const std::exception& e) {
    return Status(StatusCode::kUnavailable, "cannot serve metrics on " + address + ": " + e.what())
        .WithReason("BIND_FAILED")
        .WithField("metrics")
        .WithFix("choose another --metrics, or none");
  }
  server->gauges_ = std::make_shared<SnapshotGauges>(loop);
  server->exposer_->RegisterCollectable(metrics.registry());
  server->exposer_->RegisterCollectable(server->gauges_);
  return server;
}

}  // namespace glim::server
