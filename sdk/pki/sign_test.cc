#include "sdk/pki/sign.h"

#include <gtest/gtest.h>

#include "sdk/pki/openssl_ptr.h"
#include "sdk/pki/testing/authorities.h"

namespace glim::pki {
namespace {

PublicKey Half() { return PublicHalf(PrivateKey::Make()); }

TEST(Sign, NamesThatCannotStandInACertificateAreRefused) {
  const Authority authority = TestAuthority();
  const Lifetime month = LifetimeOf(Hours(720));
  for (const char* cluster : {"", "a/b", "a b", "c1?"}) {
    EXPECT_EQ(MakeAuthority(cluster, {}, month).status().field(), "cluster") << cluster;
    EXPECT_EQ(SignNode(authority, cluster, "n1", Half(), {}, month).status().field(), "cluster") << cluster;
    EXPECT_EQ(SignScheduler(authority, cluster, {}, Half(), {}, month).status().field(), "cluster") << cluster;
  }
  for (const std::string& node : {std::string(), std::string("N1"), std::string("n/1"), std::string(64, 'n')}) {
    EXPECT_EQ(SignNode(authority, "c1", node, Half(), {}, month).status().field(), "node") << node;
  }
  EXPECT_TRUE(SignNode(authority, "c1", std::string(63, 'n'), Half(), {}, month).ok());
  for (const ServerNames& names : std::vector<ServerNames>{{{""}, {}},
                                                           {{"a b"}, {}},
                                                           {{"*.example.org"}, {}},
                                                           {{"-a"}, {}},
                                                           {{}, {"host"}},
                                                           {{}, {"1.2.3"}},
                                                           {{}, {"[::1]"}},
                                                           {std::vector<std::string>(40, "a"), {}}}) {
    EXPECT_EQ(SignScheduler(authority, "c1", names, Half(), {}, month).status().field(), "names");
  }
}

TEST(Sign, ASchedulersCertificateIsForWhereItListens) {
  const Authority authority = TestAuthority();
  const Certificate made =
      TestScheduler(authority, PrivateKey::Make(), {{"head.example.org"}, {"10.0.0.1", "fd00::1"}});
  for (const char* host : {"glim-scheduler", "head.example.org"}) {
    EXPECT_EQ(X509_check_host(made.raw(), host, 0, 0, nullptr), 1) << host;
  }
  for (const char* address : {"10.0.0.1", "fd00::1"}) EXPECT_EQ(X509_check_ip_asc(made.raw(), address, 0), 1);
  EXPECT_EQ(X509_check_host(made.raw(), "other.example.org", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(made.raw(), "10.0.0.2", 0), 0);
  const Certificate node = TestNode(authority, PrivateKey::Make(), "glim-scheduler");
  EXPECT_EQ(X509_check_host(node.raw(), "glim-scheduler", 0, 0, nullptr), 0) << "a node's name is no host's";
}

TEST(Sign, NothingOutlivesItsAuthority) {
  const Authority authority = TestAuthority("c1", LifetimeOf(Hours(100)));
  EXPECT_EQ(TestNode(authority, PrivateKey::Make()).valid_until(), kTestNow + Hours(100));
  const Result<Certificate> late =
      SignNode(authority, "c1", "n1", Half(), {}, LifetimeOf(Hours(720), kTestNow + Hours(101)));
  EXPECT_EQ(late.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(late.status().reason(), "AUTHORITY_EXPIRED");
}

TEST(Sign, AnAuthoritySignsLeavesAlone) {
  const Certificate authority = TestAuthority().certificate;
  EXPECT_EQ(X509_get_pathlen(authority.raw()), 0);
  EXPECT_EQ(X509_get_key_usage(authority.raw()), static_cast<unsigned>(KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  EXPECT_NE(TestAuthority().certificate.key_id(), authority.key_id());
}

}  // namespace
}  // namespace glim::pki
