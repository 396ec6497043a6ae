// A server with identity: TLS on both ports, tokens, certificates. The administrator's token is the one of the first
// start; nodes are invited and enrolled as people do it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "glim/v1/enrol_api.grpc.pb.h"
#include "scheduler/identity/cluster_authority.h"
#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/private_key.h"

namespace glim::server {

// A machine with a certificate.
struct TestNode {
  std::string name;
  std::string machine_id;
  pki::PrivateKey key = pki::PrivateKey::Make();
  std::vector<pki::Certificate> certificate{};  // one; none: not enrolled
};

class IdentityTest : public ServerTest {
 protected:
  void Configure() override { config_.insecure_without_identity = false; }
  std::shared_ptr<grpc::ChannelCredentials> Credentials() const override;
  // To the agents' port, with the node's certificate; null: with none.
  std::shared_ptr<grpc::Channel> ConnectAgent(const TestNode* node);
  // The call's token; the administrator's if it is empty.
  void Authorize(grpc::ClientContext* context, const std::string& token = "") const;

  // A user with a token of their own, by the administrator.
  std::string MakeUser(const v1::AccountUser& user, const std::string& scope = "all");
  v1::InviteNodeResponse MustInvite(const v1::InviteNodeRequest& request);
  grpc::Status Enrol(const std::string& token, TestNode* node, v1::EnrolResponse* response = nullptr);
  // Invited and enrolled.
  TestNode MustEnrol(const std::string& name, bool login = false);
  // What such a node's agent says.
  v1::Hello HelloOf(const TestNode& node) const;
  // The audit trail's newest rows of a method, oldest first.
  std::vector<v1::AuditEntry> Audit(const std::string& method);

  // Who the token's owner is; fails the test if it does not count.
  v1::WhoAmIResponse WhoIs(const std::string& token);

  // The cluster's own authority, as whoever has the key file and the store has it.
  identity::ClusterAuthority OpenAuthorityOfStore();
  static TimePoint Now();

  // A file of the scheduler's own folder; empty: it cannot be read.
  std::string TextOf(const std::string& name) const;
  std::string admin_token() const;
  std::string Authorities() const;  // PEM
};

}  // namespace glim::server
