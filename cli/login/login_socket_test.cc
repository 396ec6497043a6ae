#include "cli/login/login_socket.h"

#include <gtest/gtest.h>

namespace glim::cli {
namespace {

TEST(LoginSocketAnswer, IsATokenOrARefusal) {
  const Result<SocketLogin> login = ReadSocketAnswer(R"({"token":"t","user":"kim","expires_at_ms":5,"server":"h:1"})");
  ASSERT_TRUE(login.ok());
  EXPECT_EQ(login->user + login->server, "kimh:1");
  EXPECT_EQ(login->expires_at_ms, 5);
  const Result<SocketLogin> refused =
      ReadSocketAnswer(R"({"error":{"code":"PERMISSION_DENIED","reason":"NO_SUCH_USER","fix":"ask"}})");
  EXPECT_EQ(refused.status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(refused.status().reason() + refused.status().fix(), "NO_SUCH_USERask");
}

TEST(LoginSocketAnswer, WhateverElseCameIsRefused) {
  for (const char* line :
       {"", "{", "[]", "7", R"({"token":7,"user":"kim"})", R"({"user":"kim"})", R"({"error":"no"})"}) {
    EXPECT_EQ(ReadSocketAnswer(line).status().reason(), "BAD_ANSWER") << line;
  }
}

}  // namespace
}  // namespace glim::cli
