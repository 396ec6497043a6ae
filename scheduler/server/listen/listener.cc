#include "scheduler/server/listen/listener.h"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/health_check_service_interface.h>

namespace glim::server {
namespace {

constexpr int kReceiveBytesMax = 16 << 20;  // kSpecsMax specs of 8 KiB
constexpr int kStreamsPerConnectionMax = 1000;
constexpr std::size_t kTransportBytesMax = std::size_t{1} << 30;
constexpr int kHandshakeMsMax = 10'000;
constexpr int kIdleMsMax = 10 * 60'000;

// What is unpacked here has the size that was checked on the way in: 400 MiB of zeros are 400 KiB when they are packed.
void RefuseCompression(grpc::ServerBuilder* builder) {
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
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
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMsMax);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMsMax);  // no call for that long: it may come again
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  // A second scheduler on the same port must fail, not share it.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

Result<std::unique_ptr<grpc::Server>> Listen(const Listening& listening, int* port) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  SetConnectionArguments(&builder);
  RefuseCompression(&builder);
  BoundMemory(&builder, listening.field);
  if (!listening.health) {
    builder.SetOption(std::make_unique<grpc::HealthCheckServiceServerBuilderOption>(nullptr));
  }
  *port = 0;
  builder.AddListeningPort(listening.address, listening.credentials, port);
  for (grpc::Service* service : listening.services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server && (*port != 0 || listening.address.starts_with("unix:"))) return server;
  std::string option = listening.field;
  for (char& c : option) c = c == '_' ? '-' : c;
  return Status(StatusCode::kUnavailable, "cannot listen on " + listening.address)
      .WithReason("BIND_FAILED")
      .WithField(listening.field)
      .WithFix("is another scheduler running? choose another --" + option);
}

}  // namespace glim::server
