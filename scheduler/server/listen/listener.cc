#include "scheduler/server/listen/listener.h"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <utility>

namespace glim::server {
namespace {

constexpr int kReceiveBytesMax = 16 << 20;  // kSpecsMax specs of 8 KiB
constexpr int kStreamsPerConnectionMax = 1000;
constexpr std::size_t kTransportBytesMax = std::size_t{1} << 30;
constexpr int kReadBytesMax = 8 << 10;
constexpr int kHandshakeMsMax = 20'000;  // as long as an agent tries
constexpr int kIdleMsMax = 10 * 60'000;

// What is unpacked here has the size that was checked on the way in: 400 MiB of zeros are 400 KiB when they are packed.
void RefuseCompression(grpc::ServerBuilder* builder) {
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

Status BindFailed(const Listening& listening, const Status& why) {
  std::string option = listening.field;
  for (char& c : option) c = c == '_' ? '-' : c;
  const std::string& words = why.message();
  const std::string prefix =
      words.starts_with("cannot listen on") ? "" : "cannot listen on " + listening.address + ": ";
  return Status(StatusCode::kUnavailable, prefix + words)
      .WithReason("BIND_FAILED")
      .WithField(listening.field)
      .WithFix("is another scheduler running? choose another --" + option);
}

// Beyond it gRPC reads no more from its peers until it has given memory back. Users' and agents' ports have one each:
// neither takes the other's.
void BoundMemory(grpc::ServerBuilder* builder, const char* name) {
  grpc::ResourceQuota quota(name);
  quota.Resize(kTransportBytesMax);
  builder->SetResourceQuota(quota);
}

// A peer that went without a word is noticed within half a minute; impatient pings of clients are put up with.
void SetConnectionArguments(grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kReceiveBytesMax);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnectionMax);
  // gRPC makes the calls of all that it has read before it asks about the first.
  builder->AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadBytesMax);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMsMax);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMsMax);  // no call for that long: it may come again
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
}

}  // namespace

ConnectionBounds UsersConnections(std::size_t descriptors) {
  const std::size_t all = std::min<std::size_t>(8'192, descriptors / 4);
  return {std::min<std::size_t>(512, all / 2), all};
}

// One for each agent; whoever tests with many has them all on one machine.
ConnectionBounds AgentsConnections(std::size_t descriptors) {
  const std::size_t all = std::min<std::size_t>(50'000, descriptors / 8 * 5);
  return {std::min<std::size_t>(40'000, all), all};
}

Result<std::unique_ptr<Port>> Listen(const Listening& listening) {
  auto acceptor = PortAcceptor::Bind(listening.address, listening.connections, listening.calls != nullptr);
  if (!acceptor.ok()) return BindFailed(listening, acceptor.status());
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  SetConnectionArguments(&builder);
  RefuseCompression(&builder);
  BoundMemory(&builder, listening.field);
  if (!listening.health) {
    builder.SetOption(std::make_unique<grpc::HealthCheckServiceServerBuilderOption>(nullptr));
  }
  if (listening.calls != nullptr) {
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> counting;
    counting.push_back(listening.calls->Interceptors());
    builder.experimental().SetInterceptorCreators(std::move(counting));
  }
  auto taker = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, listening.credentials);
  for (grpc::Service* service : listening.services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return BindFailed(listening, Status(StatusCode::kUnavailable, "gRPC's server does not start"));
  (*acceptor)->Start(std::move(taker));
  return std::make_unique<Port>(std::move(server), std::move(acceptor).value());
}

}  // namespace glim::server
