#include "scheduler/oidc/https_get.h"

#include <gtest/gtest.h>

namespace glim::oidc {
namespace {

TEST(HttpsGet, GoesToSafePlacesAlone) {
  for (const char* url : {"https://issuer.example", "https://issuer.example:8443/realms/x?a=b", "http://127.0.0.1:80/x",
                          "http://localhost", "http://localhost:1/x", "http://[::1]:5/x"}) {
    EXPECT_TRUE(IsSafeUrl(url)) << url;
  }
  for (const char* url :
       {"", "https://", "http://issuer.example", "ftp://127.0.0.1", "file:///etc/passwd", "http://127.0.0.1.example",
        "http://localhost:80@issuer.example", "https://kim:secret@issuer.example", "http://localhost\\@issuer.example",
        "http://[::1].example/", "https://a b", "https://issuer.example/\n", "HTTPS://x", "http://127.0.0.2"}) {
    EXPECT_FALSE(IsSafeUrl(url)) << url;
    EXPECT_FALSE(HttpsGet(url).ok()) << url;
  }
}

TEST(HttpsGet, NobodyThereIsToldSo) {
  EXPECT_EQ(HttpsGet("http://127.0.0.1:1/keys").status().reason(), "ISSUER_UNREACHABLE");
}

}  // namespace
}  // namespace glim::oidc
