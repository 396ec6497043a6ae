#include "scheduler/server/server.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>
#include <vector>

#include "scheduler/gateway/gateway.h"
#include "scheduler/gateway/watch/stream_hub.h"
#include "scheduler/notify/notifier.h"
#include "scheduler/oidc/verifier.h"
#include "scheduler/policy/layout_import.h"
#include "scheduler/server/agents/agent_service.h"
#include "scheduler/server/agents/log_tail_keeper.h"
#include "scheduler/server/clients/admin_service.h"
#include "scheduler/server/clients/client_service.h"
#include "scheduler/server/clients/enrol_service.h"
#include "scheduler/server/clients/layout_service.h"
#include "scheduler/server/clients/log_service.h"
#include "scheduler/server/clients/operate_service.h"
#include "scheduler/server/clients/report_service.h"
#include "scheduler/server/clients/reserve_service.h"
#include "scheduler/server/clients/sched_service.h"
#include "scheduler/server/convert/rpc_status.h"
#include "scheduler/server/door/door.h"
#include "scheduler/server/door/forwarded_peer.h"
#include "scheduler/server/identity_parts.h"
#include "scheduler/server/limits/caller_limits.h"
#include "scheduler/server/listen/first_start.h"
#include "scheduler/server/listen/listener.h"
#include "scheduler/server/login/oidc_affairs.h"
#include "scheduler/server/loop/policy_keeper.h"
#include "scheduler/server/metrics/metrics_server.h"
#include "scheduler/server/secrets/secret_affairs.h"
#include "scheduler/store/open_store.h"
#include "sdk/io/random_bytes.h"
#include "sdk/log/log.h"
#include "sdk/threads/hand_over.h"

namespace glim::server {
namespace {

constexpr std::size_t kOwnReadsMax = 16;  // the feed of events, the check of the leader
constexpr std::size_t kGatewayKeyBytes = 32;
constexpr auto kStopGrace = std::chrono::seconds(3);

}  // namespace

struct Server::Parts {
  Metrics metrics;
  std::unique_ptr<CallerLimits> limits;
  std::string cluster_id;
  const std::string gateway_key = RandomHex(kGatewayKeyBytes);  // the HTTP gateway's, for whom it calls
  std::unique_ptr<SchedulerLoop> loop;
  AgentStrand strand;
  std::unique_ptr<PolicyKeeper> policy;
  std::unique_ptr<LogBroker> broker;
  std::unique_ptr<AgentHub> hub;
  std::unique_ptr<LogTailKeeper> tails;
  HeldSaves held_saves;
  std::unique_ptr<EventFeed> feed;
  std::unique_ptr<notify::Notifier> notifier;
  std::unique_ptr<Door> door;
  std::unique_ptr<IdentityParts> identity;
  std::unique_ptr<StreamWatch> watch;
  SecretSource secrets;
  std::unique_ptr<SecretAffairs> user_secrets;
  std::unique_ptr<OidcAffairs> sign_ins;
  Adviser adviser;
  std::unique_ptr<store::HistoryReader> history;  // until the desk has it
  std::unique_ptr<HistoryDesk> desk;
  std::unique_ptr<WebCodes> web_codes;
  std::unique_ptr<ClientService> client;
  std::unique_ptr<AgentService> agent;
  std::unique_ptr<AgentService> second_agent;  // the same, for the second port without identity
  std::unique_ptr<AdminService> admin;
  std::unique_ptr<OperateService> operate;
  std::unique_ptr<ReserveService> reserve;
  std::unique_ptr<LayoutService> layout;
  std::unique_ptr<LogService> logs;
  std::unique_ptr<ReportService> reports;
  std::unique_ptr<SchedService> sched;
  std::unique_ptr<EnrolService> enrol;
  std::unique_ptr<OpenConnections> user_connections, agent_connections;
  std::unique_ptr<BegunCalls> user_calls, agent_calls;  // null: without identity
  std::unique_ptr<Port> grpc;
  std::unique_ptr<Port> grpc_agents;
  std::unique_ptr<gateway::StreamHub> streams;
  std::unique_ptr<gateway::Gateway> http;  // null: not served
  int port = 0;
  int agents_port = 0;
  std::unique_ptr<MetricsServer> metrics_server;
  bool stopped = false;

  Status OpenLoop(const Config& config, OnFatal on_fatal);
  void MakeParts(const Config& config);
  void MakeUserAffairs(const Config& config);
  void MakeServices();
  void MakeBounds();
  Status Serve(const Config& config);
  Status ListenForAll(const Config& config);
  Status ServeHttp(const Config& config);
  void EndStreams(const std::string& node, const Status& why);
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
  auto reader = (*store)->OpenReader();
  if (!reader.ok()) return reader.status();
  history = std::move(reader).value();
  SchedulerLoop::Options options;
  options.policy = config.policy;
  options.clock = MonotonicWallClock();
  options.history_kept = config.history_kept;
  options.history = {config.history_max, config.ended_jobs_max, std::int64_t{config.history_mib_max} << 20};
  options.audit_kept = config.audit_kept;
  // Agents obey the highest epoch that they have seen. Seconds since 1970 outrun a counter of leaders, so that a new,
  // empty database is obeyed after an old one.
  options.epoch_at_least = static_cast<std::uint64_t>(std::max<std::int64_t>(0, options.clock().ms / 1000));
  // Callers are refused by their own bounds first; these hold if something else asks too much.
  options.inbox_max = config.limits.At(BoundOf::kAll, Bound::kCalls);
  options.reads_max =
      config.limits.At(BoundOf::kAll, Bound::kReads) + config.limits.At(BoundOf::kAll, Bound::kStreams) + kOwnReadsMax;
  limits = std::make_unique<CallerLimits>(config.limits, options.clock);
  options.observer = &metrics;
  options.on_fatal = std::move(on_fatal);
  options.import_rows = [file = PolicyFile{config.policy, config.policy_names}](
                            const core::Accounts& accounts) -> Result<std::optional<core::ChangeAccounts>> {
    auto plan = PlanPolicyImport(accounts, file);
    if (!plan.ok()) return plan.status();
    for (const std::string& words : plan->words) LogInfo("imported from the policy row=\"{}\"", words);
    for (const std::string& warning : plan->warnings) LogWarning("policy warning=\"{}\"", warning);
    return std::move(plan->event);
  };
  options.may_lead = [&](const core::ClusterState& rows) -> Status {
    if (auto plan = PlanPolicyImport(rows.accounts(), {config.policy, config.policy_names}); !plan.ok()) {
      return plan.status();
    }
    if (config.insecure_without_identity) return Status::Ok();
    return CheckKeyFile(config.key_file, *rows.tables().identity, cluster_id);
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

// Of this node's agent, whose certificate counts no more. Any thread.
void Server::Parts::EndStreams(const std::string& node, const Status& why) {
  strand.Post([this, node, status = ToGrpc(why)] {
    const SnapshotPtr snapshot = loop->snapshot();
    const core::NodeId* const id = snapshot->tables.node_ids.Find(node);
    if (id == nullptr) return;
    hub->EndNode(*id, status);
  });
}

void Server::Parts::MakeParts(const Config& config) {
  const Door::Mode mode = config.insecure_without_identity ? Door::Mode::kPlaintext : Door::Mode::kTokens;
  door = std::make_unique<Door>(loop.get(), limits.get(), mode, &metrics);
  door->set_gateway_key(gateway_key);
  identity = std::make_unique<IdentityParts>(
      config, IdentityParts::Around{loop.get(), &strand, cluster_id,
                                    [this](AuditNote note, const Status& why) { door->Denied(std::move(note), why); },
                                    [this](const std::string& node, const Status& why) { EndStreams(node, why); }});
  broker = std::make_unique<LogBroker>(&strand);
  hub = std::make_unique<AgentHub>(&strand, loop.get(), broker.get(), cluster_id, &identity->gate(),
                                   [this] { return identity->authority(); });
  tails = std::make_unique<LogTailKeeper>(
      &strand, broker.get(), loop.get(),
      LogTailKeeper::Bounds{config.history_kept, std::int64_t{config.log_tails_mib_max} << 20});
  feed = std::make_unique<EventFeed>(&strand, loop.get());
  notify::Notifier::Options told;
  told.cluster_id = cluster_id;
  told.random = [] { return static_cast<double>(RandomNumber() >> 11) * 0x1p-53; };
  notifier = std::make_unique<notify::Notifier>(loop.get(), std::move(told));
  watch = std::make_unique<StreamWatch>(&strand, door.get());
}

// Once the keys are open. Without identity there are no secrets, and nobody signs in.
void Server::Parts::MakeUserAffairs(const Config& config) {
  secrets.random = FillRandomly;
  if (identity->keeper() != nullptr) secrets.key = identity->keeper()->key();
  secrets.server = [this] { return identity->listen(); };
  secrets.authority = [this] { return identity->authority(); };
  secrets.cluster = cluster_id;
  hub->set_secrets(&secrets);
  user_secrets = std::make_unique<SecretAffairs>(loop.get(), &secrets);
  std::unique_ptr<oidc::Verifier> verifier;
  if (identity->identity() && !config.issuer.issuer.empty()) {
    verifier = std::make_unique<oidc::Verifier>(config.issuer, oidc::FetchDocument, [this] { return loop->Now(); });
  }
  sign_ins = std::make_unique<OidcAffairs>(loop.get(), std::move(verifier), [this](AuditNote note, const Status& why) {
    door->Denied(std::move(note), why);
  });
}

// After that.
void Server::Parts::MakeServices() {
  web_codes = std::make_unique<WebCodes>(door.get());
  desk = std::make_unique<HistoryDesk>(loop.get(), std::move(history));
  client =
      std::make_unique<ClientService>(loop.get(), &strand, broker.get(), feed.get(), &adviser, desk.get(), door.get(),
                                      watch.get(), user_secrets.get(), sign_ins.get(), web_codes.get(), cluster_id);
  for (auto* service : {&agent, &second_agent}) {
    *service = std::make_unique<AgentService>(hub.get(), broker.get(), limits.get(), &held_saves, identity->enrolment(),
                                              identity->logins());
  }
  admin =
      std::make_unique<AdminService>(loop.get(), policy.get(), door.get(), &identity->nodes(), &identity->rotation());
  operate = std::make_unique<OperateService>(loop.get(), door.get());
  reserve = std::make_unique<ReserveService>(loop.get(), &adviser, door.get());
  layout = std::make_unique<LayoutService>(loop.get(), door.get());
  logs = std::make_unique<LogService>(loop.get(), &strand, broker.get(), door.get());
  reports = std::make_unique<ReportService>(loop.get(), desk.get(), &held_saves, door.get());
  sched = std::make_unique<SchedService>(loop.get(), &adviser, desk.get(), door.get(), policy->source());
  if (identity->identity()) enrol = std::make_unique<EnrolService>(door.get(), identity->enrolment());
}

Status Server::Parts::Serve(const Config& config) {
  MakeParts(config);
  loop->set_on_sync([this](const std::set<core::NodeId>& nodes) { hub->SyncNodes(nodes); });
  loop->set_on_history([this] {
    feed->Wake();
    notifier->Wake();
  });
  loop->set_on_attempts_ended(
      [this](std::vector<core::AttemptId> attempts) { tails->AttemptsEnded(std::move(attempts)); });
  loop->Start();
  tails->Start();
  notifier->Start();
  if (Status s = identity->OpenKeys(); !s.ok()) return s;
  MakeUserAffairs(config);
  MakeServices();
  MakeBounds();
  return ListenForAll(config);
}

// Of the two ports. Without identity nobody can show who they are.
void Server::Parts::MakeBounds() {
  const std::size_t descriptors = RaiseDescriptorLimit();
  const auto kernel = OpenConnections::RealKernel();
  user_connections = std::make_unique<OpenConnections>(UsersConnections(descriptors), kernel);
  agent_connections = std::make_unique<OpenConnections>(AgentsConnections(descriptors), kernel);
  if (!identity->identity()) return;
  const BegunCalls::Rules of_users{false, [this](std::string_view text) { return door->Counts(text); }};
  user_calls = std::make_unique<BegunCalls>(user_connections.get(), of_users);
  agent_calls = std::make_unique<BegunCalls>(agent_connections.get(), BegunCalls::Rules{true, nullptr});
  door->set_on_proven([calls = user_calls.get()](const grpc::ServerContextBase& context, const std::string& user) {
    calls->Proven(context, user);
  });
}

// Users' port and agents' port. Without identity agents may come by either, as they did when there was one.
Status Server::Parts::ListenForAll(const Config& config) {
  std::vector<grpc::Service*> services = {client.get(),  admin.get(), operate.get(), layout.get(),
                                          reserve.get(), logs.get(),  reports.get(), sched.get()};
  if (enrol) services.push_back(enrol.get());
  if (!identity->identity()) services.push_back(second_agent.get());
  auto users = Listen({"listen", config.listen, identity->ForUsers(user_calls.get()), std::move(services), true,
                       user_connections.get(), user_calls.get()});
  if (!users.ok()) return users.status();
  grpc = std::move(users).value();
  port = grpc->port();
  auto agents = Listen({"listen_agents",
                        AgentsAddress(config),
                        identity->ForAgents(agent_calls.get()),
                        {agent.get()},
                        false,
                        agent_connections.get(),
                        agent_calls.get()});
  if (!agents.ok()) return agents.status();
  grpc_agents = std::move(agents).value();
  agents_port = grpc_agents->port();
  identity->Bound(port, agents_port);
  return ServeHttp(config);
}

// The same services for scripts and browsers, by a channel inside the process.
Status Server::Parts::ServeHttp(const Config& config) {
  gateway::Gateway::Options options;
  options.address = HttpAddress(config);
  if (options.address.empty()) return Status::Ok();
  const gateway::StreamHub::Parts fed_by{loop.get(), door.get(), limits.get(), feed.get()};
  streams = std::make_unique<gateway::StreamHub>(fed_by);
  options.streams = streams.get();
  options.identity = identity->identity();
  options.names = config.names;
  options.web_root = config.web_root;
  options.forward = {kForwardedPeer, [key = gateway_key](const std::string& peer) { return ForwardedPeer(key, peer); }};
  const bool tls = options.identity && !config.http_plaintext;
  if (tls) {
    options.certificate = [this]() -> gateway::ShownCertificate {
      auto shown = identity->shown();
      return {shown, &shown->key, &shown->chain};
    };
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // its answers are as large as those to other clients
  auto started = gateway::Gateway::Start(std::move(options), grpc->InProcessChannel(arguments));
  if (!started.ok()) return started.status();
  http = std::move(started).value();
  web_codes->set_url((tls ? "https://" : "http://") + identity->ReachedByOthers(HttpAddress(config), http->port()));
  return Status::Ok();
}

Result<std::unique_ptr<Server>> Server::Start(const Config& config, OnFatal on_fatal) {
  if (Status s = CheckConfig(config); !s.ok()) return s;
  std::unique_ptr<Server> server(new Server());
  Parts& parts = *server->parts_;
  if (Status s = parts.OpenLoop(config, std::move(on_fatal)); !s.ok()) return s;
  if (Status s = parts.Serve(config); !s.ok()) return s;
  if (config.metrics != "none") {
    auto metrics = MetricsServer::Start(config.metrics, parts.metrics, parts.loop.get(), parts.limits.get(),
                                        &parts.notifier->figures());
    if (!metrics.ok()) return metrics.status();
    parts.metrics_server = std::move(metrics).value();
  }
  LogInfo("serving listen={} port={} agents_port={} http_port={} metrics_port={} cluster={} epoch={}", config.listen,
          parts.port, parts.agents_port, server->http_port(), server->metrics_port(), parts.cluster_id,
          parts.loop->epoch());
  return server;
}

Server::~Server() { Stop(); }

void Server::Stop() {
  if (std::exchange(parts_->stopped, true)) return;
  if (parts_->streams) parts_->streams->Stop();  // before what feeds them
  if (parts_->notifier) parts_->notifier->Stop();
  if (parts_->hub) parts_->hub->EndAll({grpc::StatusCode::UNAVAILABLE, "the scheduler is stopping"});
  if (parts_->tails) parts_->strand.Post([tails = parts_->tails.get()] { tails->Stop(); });
  if (parts_->broker) parts_->strand.Post([broker = parts_->broker.get()] { broker->Stop(); });
  if (parts_->feed) parts_->strand.Post([feed = parts_->feed.get()] { feed->Stop(); });
  if (parts_->watch) parts_->strand.Post([watch = parts_->watch.get()] { watch->Stop(); });
  parts_->adviser.Stop();  // before the calls that wait for it are waited for
  if (parts_->desk) parts_->desk->Stop();
  if (parts_->identity) parts_->identity->Stop();
  if (parts_->sign_ins) parts_->sign_ins->Stop();
  if (parts_->http) parts_->http->Stop();  // it calls the servers
  const auto until = std::chrono::system_clock::now() + kStopGrace;
  for (auto* server : {&parts_->grpc, &parts_->grpc_agents}) {
    if (!*server) continue;
    (*server)->Shutdown(until);
    (*server)->Wait();
  }
  TakeOver(static_cast<CallObserver*>(&parts_->metrics));  // no call is there any more that could tell it anything
  if (parts_->loop) parts_->loop->Stop();
  parts_->strand.Stop();
  parts_->metrics_server.reset();  // last: its own threads take up to two seconds to notice
}

int Server::port() const { return parts_->port; }
int Server::agents_port() const { return parts_->agents_port; }
int Server::http_port() const { return parts_->http ? parts_->http->port() : 0; }
int Server::metrics_port() const { return parts_->metrics_server ? parts_->metrics_server->port() : 0; }
const std::string& Server::cluster_id() const { return parts_->cluster_id; }
SnapshotPtr Server::snapshot() const { return parts_->loop->snapshot(); }

}  // namespace glim::server
