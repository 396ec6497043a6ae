// The real program against a fake scheduler with TLS, and nothing that says whom to trust: each test settles that.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/testing/fake_server.h"
#include "cli/testing/run_glim.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/sign.h"
#include "sdk/pki/testing/authorities.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::cli {

inline TimePoint RealNow() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

// An authority of today.
inline pki::Authority NewAuthority() { return pki::TestAuthority("c1", pki::LifetimeOf(Hours(24), RealNow())); }

inline std::shared_ptr<grpc::ServerCredentials> Showing(const pki::PrivateKey& key, const std::string& chain) {
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({key.Pem(), chain});
  return grpc::SslServerCredentials(options);
}

// What a scheduler of that authority shows.
inline std::shared_ptr<grpc::ServerCredentials> SchedulerOf(const pki::Authority& authority) {
  const pki::PrivateKey key = pki::PrivateKey::Make();
  const pki::Certificate own = pki::TestScheduler(authority, key, {}, pki::LifetimeOf(Hours(1), RealNow()));
  return Showing(key, own.Pem() + authority.certificate.Pem());
}

class IdentityTest : public testing::Test {
 protected:
  IdentityTest() : authority_(NewAuthority()), server_(SchedulerOf(authority_)) {
    char name[] = "/tmp/glim-who-XXXXXX";
    folder_ = mkdtemp(name);
    const auto state = server_.Lock();
    state->identity.who.set_user("kim");
    state->identity.who.set_role("user");
    state->identity.who.set_token(OwnId());
    state->identity.who.set_scope("all");
  }
  ~IdentityTest() override { std::filesystem::remove_all(folder_); }

  std::string OwnId() const { return ParseToken(token_)->id; }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::ofstream(Path(name)) << text;
    chmod(Path(name).c_str(), mode);
    return Path(name);
  }
  GlimResult Glim(std::vector<std::string> arguments, std::string input = "") {
    GlimOptions options;
    options.env = env_;
    options.folder = folder_;
    options.input = std::move(input);
    return GlimProcess(std::move(arguments), options).Finish();
  }
  // Everything that a user needs, by files that are named.
  void KnowAll() {
    env_["GLIM_SERVER"] = server_.address();
    env_["GLIM_CA"] = Write("ca.pem", authority_.certificate.Pem(), 0644);
    env_["GLIM_TOKEN_FILE"] = Write("my-token", token_ + "\n");
  }
  // As 'glim login --token' does it.
  GlimResult LogIn() {
    return Glim(
        {"login", "--token", "--server", server_.address(), "--ca-fingerprint", authority_.certificate.fingerprint()},
        token_ + "\n");
  }
  std::vector<std::string> Heard() { return server_.Lock()->authorizations; }
  std::string LoginFile() const { return Path("xdg/glim/token"); }

  const std::string token_ = MakeToken().Text();
  pki::Authority authority_;
  FakeServer server_;
  std::string folder_;
  std::map<std::string, std::string> env_;
};

}  // namespace glim::cli
