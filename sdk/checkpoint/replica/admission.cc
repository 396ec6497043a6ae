#include "sdk/checkpoint/replica/admission.h"

namespace glim::checkpoint {
namespace {

Handshake HandshakeWith(const Hello& hello, const Nonce& nonce, const ReplicaClaims& claims,
                        const std::string& client_worker, const ReplicaState& service) {
  Handshake shake = HandshakeOf(claims, hello.nonce, nonce);
  shake.only_reads = hello.attempt == 0;
  shake.service_key = service.key;
  shake.client_worker = client_worker;
  return shake;
}

}  // namespace

Status CheckHello(const Hello& hello) {
  if (hello.protocol != kReplicaProtocol) {
    const bool older = hello.protocol < kReplicaProtocol;
    return Status(StatusCode::kFailedPrecondition, "this service speaks protocol " + std::to_string(kReplicaProtocol) +
                                                       ", the task's SDK " + std::to_string(hello.protocol))
        .WithReason("PROTOCOL_VERSION")
        .WithFix(older ? "upgrade the SDK on the task's node" : "upgrade glim-replica on this service's node");
  }
  if (!hello.job.empty() && hello.job.size() <= kReplicaJobBytesMax) return Status::Ok();
  return InvalidArgument("job", "its name has to be of 1 to 256 bytes");
}

Result<ReplicaClaims> CheckAnswer(const Hello& hello, const Nonce& nonce, const Answer& answer,
                                  const ReplicaIssuers& issuers, const ReplicaState& service) {
  if (issuers.keys.empty()) {
    return Status(StatusCode::kUnavailable, "this service has not heard yet whose tokens count")
        .WithReason("NO_KEYS")
        .WithFix("its node's agent tells it once it has a scheduler; try again then");
  }
  const Status bad =
      Status(StatusCode::kUnauthenticated, "this is not the token of job '" + hello.job + "'").WithReason("BAD_TOKEN");
  Result<ReplicaClaims> claims = CheckReplicaCertificate(answer.certificate, issuers.keys);
  if (!claims.ok()) return bad;
  const bool same = claims->cluster == issuers.cluster && std::to_string(claims->job) == hello.job &&
                    (hello.attempt == 0 || hello.attempt == claims->attempt);
  const Handshake shake = HandshakeWith(hello, nonce, *claims, answer.worker, service);
  if (!same || !IsProof(claims->key, Side::kClient, shake, answer.proof)) return bad;
  if (answer.worker.empty()) return Status(InvalidArgument("worker", "no UCX address"));
  return claims;
}

Welcome MakeWelcome(const Hello& hello, const Nonce& nonce, const ReplicaClaims& claims,
                    const std::string& client_worker, const std::string& worker, const ReplicaState& service,
                    const Ed25519Seed& seed) {
  Handshake shake = HandshakeWith(hello, nonce, claims, client_worker, service);
  shake.service_worker = worker;
  return {Prove(seed, Side::kService, shake), worker, service.instance};
}

Status TooMany(const std::string& what, std::size_t count) {
  return Status(StatusCode::kResourceExhausted, "there are " + std::to_string(count) + " " + what + " already")
      .WithReason("REPLICA_CONNECTIONS")
      .WithFix("saves go to the disk meanwhile; a later one tries again");
}

Status SharedFabric(const std::string& tls) {
  return Status(StatusCode::kFailedPrecondition, "over '" + tls + "' this service serves the jobs of one user at a " +
                                                     "time, and now it serves another's")
      .WithReason("FABRIC_SHARED")
      .WithFix(
          "an operator: --ucx-tls rc for glim-replica where there is InfiniBand, or fabric_private: true in the "
          "policy where users trust each other");
}

}  // namespace glim::checkpoint
