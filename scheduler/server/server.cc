#include "scheduler/server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <utility>

#include "scheduler/policy/quota_import.h"
#include "scheduler/server/agents/agent_service.h"
#include "scheduler/server/clients/admin_service.h"
#include "scheduler/server/clients/client_service.h"
#include "scheduler/server/loop/policy_keeper.h"
#include "scheduler/server/metrics.h"
#include "scheduler/store/open_store.h"
#include "sdk/io/random_bytes.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr int kReceiveBytesMax = 16 << 20;  // kSpecsMax specs of 8 KiB
constexpr int kStreamsPerConnectionMax = 1000;
constexpr std::size_t kTransportBytesMax = std::size_t{1} << 30;
constexpr int kHandshakeMsMax = 10'000;
constexpr auto kStopGrace = std::chrono::seconds(3);

// What is unpacked here has the size that was checked on the way in: 400 MiB of zeros are 400 KiB when they are packed.
void RefuseCompression(grpc::ServerBuilder* builder) {
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

// Beyond it gRPC reads no more from its peers until it has given memory back.
void BoundMemory(grpc::ServerBuilder* builder) {
  grpc::ResourceQuota quota("glim-scheduler");
  quota.Resize(kTransportBytesMax);
  builder->SetResourceQuota(quota);
}

// A peer that went without a word is noticed within half a minute; impatient pings of clients are put up with.
void SetConnectionArguments(grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kReceiveBytesMax);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnectionMax);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMsMax);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  // A second scheduler on the same port must fail, not share it.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

struct Server::Parts {
  Metrics metrics;
  std::string cluster_id;
  std::unique_ptr<SchedulerLoop> loop;
  AgentStrand strand;
  std::unique_ptr<PolicyKeeper> policy;
  std::unique_ptr<AgentHub> hub;
  std::unique_ptr<LogBroker> broker;
  std::unique_ptr<EventFeed> feed;
  Adviser adviser;
  std::unique_ptr<ClientService> client;
  std::unique_ptr<AgentService> agent;
  std::unique_ptr<AdminService> admin;
  std::unique_ptr<grpc::Server> grpc;
  int port = 0;
  std::unique_ptr<MetricsServer> metrics_server;
  bool stopped = false;

  Status OpenLoop(const Config& config, OnFatal on_fatal);
  Status Serve(const std::string& listen);
};

Server::Server() : parts_(std::make_unique<Parts>()) {}

Status Server::Parts::OpenLoop(const Config& config, OnFatal on_fatal) {
  auto store = store::OpenStore(config.store);
  if (!store.ok()) return store.status();
  auto id = (*store)->ClusterId(config.cluster_id.empty() ? RandomHex(16) : config.cluster_id);
  if (!id.ok()) return id.status();
  cluster_id = *id;
  if (!config.cluster_id.empty() && cluster_id != config.cluster_id) {
    return Status(StatusCode::kFailedPrecondition,
                  "the store belongs to cluster " + cluster_id + ", not to " + config.cluster_id)
        .WithReason("WRONG_CLUSTER")
        .WithField("cluster_id")
        .WithFix("leave cluster_id out, or use the right store");
  }
  SchedulerLoop::Options options;
  options.policy = config.policy;
  options.clock = MonotonicWallClock();
  options.history_kept = config.history_kept;
  options.history_max = config.history_max;
  // Agents obey the highest epoch that they have seen. Seconds since 1970 outrun a counter of leaders, so that a new,
  // empty database is obeyed after an old one.
  options.epoch_at_least = static_cast<std::uint64_t>(std::max<std::int64_t>(0, options.clock().ms / 1000));
  options.ended_jobs_max = config.ended_jobs_max;
  options.observer = &metrics;
  options.on_fatal = std::move(on_fatal);
  options.import_quotas =
      [policy = config.policy](const core::Accounts& accounts) -> Result<std::optional<core::ChangeAccounts>> {
    auto plan = PlanQuotaImport(accounts, policy);
    if (!plan.ok()) return plan.status();
    for (const std::string& words : plan->words) LogInfo("quotas imported from the policy row=\"{}\"", words);
    if (!plan->warning.empty()) LogWarning("policy warning=\"{}\"", plan->warning);
    return std::move(plan->event);
  };
  auto opened = SchedulerLoop::Open(std::move(options), std::move(store).value());
  if (!opened.ok()) return opened.status();
  loop = std::move(opened).value();
  PolicyOrigin origin{config.policy_source.path, [source = config.policy_source] { return ReadPolicyAgain(source); }};
  policy =
      std::make_unique<PolicyKeeper>(loop.get(), std::move(origin), PolicyFile{config.policy, config.policy_names});
  policy->WarnAtStart();
  return Status::Ok();
}

Status Server::Parts::Serve(const std::string& listen) {
  hub = std::make_unique<AgentHub>(&strand, loop.get(), cluster_id);
  broker = std::make_unique<LogBroker>(&strand);
  feed = std::make_unique<EventFeed>(&strand, loop.get());
  client = std::make_unique<ClientService>(loop.get(), &strand, broker.get(), feed.get(), &adviser, cluster_id);
  agent = std::make_unique<AgentService>(hub.get(), broker.get());
  admin = std::make_unique<AdminService>(loop.get(), policy.get());
  loop->set_on_sync([this](const std::set<core::NodeId>& nodes) { hub->SyncNodes(nodes); });
  loop->set_on_history([this] { feed->Wake(); });
  loop->Start();

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetConnectionArguments(&builder);
  RefuseCompression(&builder);
  BoundMemory(&builder);
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(client.get());
  builder.RegisterService(agent.get());
  builder.RegisterService(admin.get());
  grpc = builder.BuildAndStart();
  if (!grpc || (port == 0 && !listen.starts_with("unix:"))) {
    return Status(StatusCode::kUnavailable, "cannot listen on " + listen)
        .WithReason("BIND_FAILED")
        .WithField("listen")
        .WithFix("is another scheduler running? choose another --listen");
  }
  return Status::Ok();
}

Result<std::unique_ptr<Server>> Server::Start(const Config& config, OnFatal on_fatal) {
  if (Status s = CheckConfig(config); !s.ok()) return s;
  std::unique_ptr<Server> server(new Server());
  Parts& parts = *server->parts_;
  if (Status s = parts.OpenLoop(config, std::move(on_fatal)); !s.ok()) return s;
  if (Status s = parts.Serve(config.listen); !s.ok()) return s;
  if (config.metrics != "none") {
    auto metrics = MetricsServer::Start(config.metrics, parts.metrics, parts.loop.get());
    if (!metrics.ok()) return metrics.status();
    parts.metrics_server = std::move(metrics).value();
  }
  LogInfo("serving listen={} port={} metrics_port={} cluster={} epoch={}", config.listen, parts.port,
          server->metrics_port(), parts.cluster_id, parts.loop->epoch());
  return server;
}

Server::~Server() { Stop(); }

void Server::Stop() {
  if (std::exchange(parts_->stopped, true)) return;
  if (parts_->hub) parts_->hub->EndAll({grpc::StatusCode::UNAVAILABLE, "the scheduler is stopping"});
  if (parts_->broker) parts_->strand.Post([broker = parts_->broker.get()] { broker->Stop(); });
  if (parts_->feed) parts_->strand.Post([feed = parts_->feed.get()] { feed->Stop(); });
  parts_->adviser.Stop();  // before the calls that wait for it are waited for
  if (parts_->grpc) {
    parts_->grpc->Shutdown(std::chrono::system_clock::now() + kStopGrace);
    parts_->grpc->Wait();
  }
  if (parts_->loop) parts_->loop->Stop();
  parts_->strand.Stop();
  parts_->metrics_server.reset();  // last: its own threads take up to two seconds to notice
}

int Server::port() const { return parts_->port; }
int Server::metrics_port() const { return parts_->metrics_server ? parts_->metrics_server->port() : 0; }
const std::string& Server::cluster_id() const { return parts_->cluster_id; }
SnapshotPtr Server::snapshot() const { return parts_->loop->snapshot(); }

}  // namespace glim::server
