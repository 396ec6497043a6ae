// `glim-agent enrol` against a scheduler that signs: what fails, fails before the invitation is used.
#include "nodeagent/identity/enrol.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>

#include "glim/v1/enrol_api.grpc.pb.h"
#include "nodeagent/identity/identity_folder.h"
#include "scheduler/identity/cluster_authority.h"
#include "sdk/io/random_bytes.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using identity::ClusterAuthority;

// Signs for everybody, by a clock of its own.
class Inviting final : public v1::EnrolApi::Service {
 public:
  explicit Inviting(Duration ahead)
      : ahead_(ahead), authority_(*ClusterAuthority::Create("c1", WallTime() + std::min(ahead, {}), FillRandomly)) {
    const pki::PrivateKey key = pki::PrivateKey::Make();
    const auto certificate = authority_.SignScheduler(key, {{"localhost"}, {"127.0.0.1"}}, WallTime());
    grpc::SslServerCredentialsOptions shown;
    shown.pem_key_cert_pairs.push_back({key.Pem(), pki::PemOf(authority_.ChainOf(*certificate))});
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(shown), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  grpc::Status Enrol(grpc::ServerContext*, const v1::EnrolRequest* request, v1::EnrolResponse* response) override {
    ++used;
    const auto certificate = authority_.SignNode(request->csr(), request->node(), WallTime() + ahead_);
    response->set_certificate(certificate->der());
    for (const pki::Certificate& one : authority_.Trust()) response->add_authorities(one.der());
    response->set_cluster_id("c1");
    response->set_listen_agents("head:7603");
    return grpc::Status::OK;
  }
  EnrolOrder Order(const std::string& state_dir) const {
    EnrolOrder order;
    order.scheduler = "127.0.0.1:" + std::to_string(port_);
    order.ca_fingerprint = authority_.ShownAuthority().fingerprint();
    order.node = "n1";
    order.state_dir = state_dir;
    order.machine_id = "m1";
    return order;
  }

  std::atomic<int> used = 0;

 private:
  const Duration ahead_;
  const ClusterAuthority authority_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// No file of this process grows beyond so many bytes, as on a disk that has no more.
class FewBytes {
 public:
  explicit FewBytes(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FewBytes() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(Enrol, WithoutRoomForTheIdentityNoInvitationIsUsed) {
  Inviting scheduler({});
  const TempFolder folder;
  ASSERT_TRUE(Enrol(scheduler.Order(folder.path()), "token").ok());
  const std::string before = IdentityFolder(folder.path()).Read()->key.Pem();
  for (const rlim_t bytes : {0, 1, 500, 100'000}) {
    const FewBytes few(bytes);
    EXPECT_FALSE(Enrol(scheduler.Order(folder.path()), "token").ok()) << bytes;
    EXPECT_EQ(scheduler.used, 1) << bytes;
  }
  EXPECT_EQ(IdentityFolder(folder.path()).Read()->key.Pem(), before) << "the old one counts";
  ASSERT_TRUE(Enrol(scheduler.Order(folder.path()), "token").ok());
  EXPECT_NE(IdentityFolder(folder.path()).Read()->key.Pem(), before);
}

// A machine whose clock was never set: its certificate begins in days, for it. The scheduler's clock is who counts.
TEST(Enrol, AClockThatIsDaysOffCostsNoInvitation) {
  for (const Duration ahead : {Hours(24) * 5, Hours(24) * -40}) {
    Inviting scheduler(ahead);
    const TempFolder folder;
    const auto enrolled = Enrol(scheduler.Order(folder.path()), "token");
    EXPECT_TRUE(enrolled.ok()) << enrolled.status().message();
    EXPECT_TRUE(IdentityFolder(folder.path()).Read().ok());
  }
}

TEST(Enrol, WhatIsWrongInTheOrderUsesNoInvitation) {
  Inviting scheduler({});
  const TempFolder folder;
  EnrolOrder order = scheduler.Order(folder.path());
  order.ca_fingerprint = std::string(64, 'a');
  EXPECT_EQ(Enrol(order, "token").status().reason(), "FINGERPRINT");
  EXPECT_FALSE(Enrol(scheduler.Order(folder.path()), "").ok()) << "no token";
  EXPECT_EQ(scheduler.used, 0);
}

}  // namespace
}  // namespace glim::nodeagent
