// Whom a service lets in: what a client says in its handshake, held against whose tokens count. Stateless.
#pragma once

#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/replica/control_message.h"
#include "sdk/checkpoint/replica/handshake.h"
#include "sdk/checkpoint/replica/node_files.h"
#include "sdk/tokens/replica_token.h"

namespace glim::checkpoint {

// FAILED_PRECONDITION (PROTOCOL_VERSION): it speaks another protocol. INVALID_ARGUMENT.
Status CheckHello(const Hello& hello);

// Whose attempt the client is of. `service`: this one, whom the client must have meant. UNAUTHENTICATED (BAD_TOKEN);
// UNAVAILABLE (NO_KEYS): nobody has said yet whose tokens count.
Result<ReplicaClaims> CheckAnswer(const Hello& hello, const Nonce& nonce, const Answer& answer,
                                  const ReplicaIssuers& issuers, const ReplicaState& service);

// For a client whose answer was good. `worker`: where UCX reaches the transfer process.
Welcome MakeWelcome(const Hello& hello, const Nonce& nonce, const ReplicaClaims& claims,
                    const std::string& client_worker, const std::string& worker, const ReplicaState& service,
                    const Ed25519Seed& seed);

// RESOURCE_EXHAUSTED (REPLICA_CONNECTIONS): "there are 9 WHAT already".
Status TooMany(const std::string& what, std::size_t count);

// FAILED_PRECONDITION (FABRIC_SHARED): copies of another user's jobs are held, over transports on which UCX writes
// wherever a peer says.
Status SharedFabric(const std::string& tls);

}  // namespace glim::checkpoint
