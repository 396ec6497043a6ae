// To whom a token is sent, and to whom not; login, logout, whoami.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "cli/testing/identity_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using LoginTest = IdentityTest;

TEST_F(LoginTest, ATokenGoesToTheSchedulerWhoseAuthorityIsKnown) {
  KnowAll();
  const GlimResult result = Glim({"queue"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Heard(), ElementsAre("Bearer " + token_));
  EXPECT_EQ(server_.Lock()->user, "") << "who asks is told by the token alone";
  const GlimResult as = Glim({"--as", "lee", "queue"});
  EXPECT_EQ(as.exit_code, 2);
  EXPECT_THAT(as.err, HasSubstr("who asks is told by the token"));
}

TEST_F(LoginTest, WithoutAnAuthorityOrATokenNothingIsAsked) {
  const GlimResult nothing = Glim({"queue", "--server", server_.address()});
  EXPECT_EQ(nothing.exit_code, 4);
  EXPECT_THAT(nothing.err, HasSubstr("[NO_AUTHORITY]"));
  EXPECT_THAT(nothing.err, HasSubstr("glim login"));
  EXPECT_THAT(nothing.err, HasSubstr("starting glim-scheduler here"));
  KnowAll();
  env_.erase("GLIM_TOKEN_FILE");
  const GlimResult none = Glim({"queue"});
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_THAT(none.err, HasSubstr("[NO_TOKEN]"));
  EXPECT_THAT(Heard(), IsEmpty());
}

TEST_F(LoginTest, ATokenThatOthersCanReadIsNotUsed) {
  KnowAll();
  for (const mode_t mode : {0640, 0604, 0620}) {
    chmod(Path("my-token").c_str(), mode);
    const GlimResult result = Glim({"queue"});
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.err, HasSubstr("[OPEN_TO_OTHERS]"));
    EXPECT_THAT(result.err, Not(HasSubstr(token_)));
  }
  EXPECT_THAT(Heard(), IsEmpty());
}

TEST_F(LoginTest, AFileThatHoldsSomethingElseIsNotQuoted) {
  KnowAll();
  for (const std::string& text : {std::string("hunter2\n"), token_ + "x", "token: " + token_ + "\n", std::string()}) {
    Write("my-token", text);
    const GlimResult result = Glim({"queue"});
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_THAT(result.err, HasSubstr("[BAD_TOKEN_FILE]"));
    EXPECT_THAT(result.err, Not(HasSubstr("hunter2")));
  }
}

// Whoever answers in the scheduler's place gets nothing, whatever they show.
TEST_F(LoginTest, NobodyElseGetsTheToken) {
  KnowAll();
  FakeServer other(SchedulerOf(NewAuthority()));
  const pki::PrivateKey key = pki::PrivateKey::Make();
  const pki::Certificate node = pki::TestNode(authority_, key, "n1", pki::LifetimeOf(Hours(1), RealNow()));
  FakeServer with_a_nodes_key(Showing(key, node.Pem() + authority_.certificate.Pem()));
  for (FakeServer* impostor : {&other, &with_a_nodes_key}) {
    const GlimResult result = Glim({"queue", "--server", impostor->address()});
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.err, HasSubstr("[WRONG_AUTHORITY]"));
    EXPECT_THAT(impostor->Lock()->authorizations, IsEmpty());
  }
  FakeServer plain;
  const GlimResult result = Glim({"queue", "--server", plain.address()});
  EXPECT_EQ(result.exit_code, 8);
  EXPECT_THAT(result.err, StartsWith("error: what answers at")) << "no lines of gRPC's own";
  EXPECT_THAT(result.err, HasSubstr("[NOT_TLS]"));
  EXPECT_THAT(plain.Lock()->authorizations, IsEmpty());
}

TEST_F(LoginTest, WithoutIdentityNoTokenIsSentAndATlsServerSaysSo) {
  KnowAll();
  FakeServer plain;
  EXPECT_EQ(Glim({"queue", "--insecure-without-identity", "--as", "kim", "--server", plain.address()}).exit_code, 0);
  EXPECT_EQ(plain.Lock()->user, "kim");
  EXPECT_THAT(plain.Lock()->authorizations, ElementsAre(""));
  const GlimResult asked = Glim({"queue", "--insecure-without-identity"});
  EXPECT_EQ(asked.exit_code, 8);
  EXPECT_THAT(asked.err, HasSubstr("[TLS_WANTED]"));
}

TEST_F(LoginTest, AFoldersConfigurationLeadsNoTokenAstray) {
  KnowAll();
  FakeServer other(SchedulerOf(NewAuthority()));
  env_.erase("GLIM_SERVER");
  Write(".glim.yaml", "server: " + other.address() + "\n");
  EXPECT_THAT(Glim({"queue"}).err, HasSubstr("[WRONG_AUTHORITY]"));
  EXPECT_THAT(other.Lock()->authorizations, IsEmpty());
  for (const char* line : {"ca: /tmp/ca.pem", "token_file: /tmp/token", "insecure_without_identity: true"}) {
    Write(".glim.yaml", std::string(line) + "\n");
    const GlimResult result = Glim({"queue"});
    EXPECT_EQ(result.exit_code, 2) << line;
    EXPECT_THAT(result.err, HasSubstr("does not say whom to trust")) << line;
  }
  Write(".glim.yaml", "output: table\n");
  Write("xdg/glim/config.yaml", "server: " + server_.address() + "\nca: ca.pem\n");
  EXPECT_THAT(Glim({"queue"}).err, HasSubstr("is no absolute path"));
}

TEST_F(LoginTest, TheFirstLoginPinsTheAuthorityByItsFingerprint) {
  const GlimResult login = LogIn();
  EXPECT_EQ(login.exit_code, 0) << login.err;
  EXPECT_EQ(login.out, "");
  EXPECT_THAT(login.err, HasSubstr("as kim (user); the token never ends"));
  EXPECT_THAT(login.err, Not(HasSubstr(token_)));
  struct stat info {};
  ASSERT_EQ(stat(LoginFile().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(Glim({"queue"}).exit_code, 0) << "server, authority and token are all known now";
  const json who = json::parse(Glim({"whoami", "-o", "json"}).out);
  EXPECT_EQ(who["user"], "kim");
  EXPECT_EQ(who["ca_fingerprint"], authority_.certificate.fingerprint());
  EXPECT_THAT(Glim({"whoami"}).out, HasSubstr("authority   " + authority_.certificate.fingerprint()));
}

TEST_F(LoginTest, ALoginWithoutAFingerprintOrWithAnotherSendsNothing) {
  const std::string other = NewAuthority().certificate.fingerprint();
  const GlimResult wrong =
      Glim({"login", "--token", "--server", server_.address(), "--ca-fingerprint", other}, token_ + "\n");
  EXPECT_EQ(wrong.exit_code, 4) << wrong.err;
  EXPECT_THAT(Glim({"login", "--token", "--server", server_.address()}, token_).err, HasSubstr("[NO_AUTHORITY]"));
  EXPECT_FALSE(std::filesystem::exists(LoginFile()));
  EXPECT_THAT(Heard(), IsEmpty());
}

TEST_F(LoginTest, ARefusedTokenIsNotKept) {
  server_.Lock()->refusal = Refusal(grpc::StatusCode::UNAUTHENTICATED, "the token counts no more", "TOKEN_EXPIRED", "",
                                    "'glim login' once more");
  const GlimResult login = LogIn();
  EXPECT_EQ(login.exit_code, 4);
  EXPECT_THAT(login.err, HasSubstr("[TOKEN_EXPIRED]"));
  EXPECT_THAT(login.err, HasSubstr("'glim login' once more"));
  EXPECT_FALSE(std::filesystem::exists(LoginFile()));
  Write("ca.pem", authority_.certificate.Pem(), 0644);
  const GlimResult nothing = Glim({"login", "--token", "--server", server_.address(), "--ca", "ca.pem"}, "");
  EXPECT_EQ(nothing.exit_code, 2) << "nothing was typed";
}

TEST_F(LoginTest, ATokenIsNotShownToASchedulerOfAnotherAuthority) {
  ASSERT_EQ(LogIn().exit_code, 0);
  const pki::Authority second = NewAuthority();
  FakeServer other(SchedulerOf(second));
  const std::string ca = Write("other.pem", second.certificate.Pem(), 0644);
  const GlimResult result = Glim({"queue", "--server", other.address(), "--ca", ca});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("[OTHER_SERVER]"));
  EXPECT_THAT(other.Lock()->authorizations, IsEmpty());
  // While an authority is changed the file has both: the old login goes on.
  const std::string both = Write("both.pem", second.certificate.Pem() + authority_.certificate.Pem(), 0644);
  EXPECT_EQ(Glim({"queue", "--ca", both}).exit_code, 0);
}

TEST_F(LoginTest, ALogoutEndsWhatTheLoginGotAndForgetsWhatWasPasted) {
  ASSERT_EQ(LogIn().exit_code, 0);
  EXPECT_THAT(Glim({"logout"}).err, HasSubstr("forgotten here"));
  EXPECT_FALSE(std::filesystem::exists(LoginFile()));
  EXPECT_THAT(server_.Lock()->identity.revoked, IsEmpty());
  EXPECT_THAT(Glim({"logout"}).err, HasSubstr("not logged in"));

  std::string lent = "server: \"" + server_.address() + "\"\nca_fingerprint: " + authority_.certificate.fingerprint() +
                     "\nlent: true\ntoken: " + token_ + "\nca: |\n";
  std::istringstream pem(authority_.certificate.Pem());
  for (std::string line; std::getline(pem, line);) lent += "  " + line + "\n";
  Write("xdg/glim/token", lent);
  EXPECT_EQ(json::parse(Glim({"logout", "-o", "json"}).out)["revoked"], true);
  ASSERT_EQ(server_.Lock()->identity.revoked.size(), 1u);
  EXPECT_EQ(server_.Lock()->identity.revoked[0].id(), OwnId());
  EXPECT_FALSE(std::filesystem::exists(LoginFile()));
}

TEST_F(LoginTest, OnItsOwnHostTheOperatorsFolderIsFound) {
  env_["XDG_STATE_HOME"] = Path("state");
  env_["GLIM_SERVER"] = server_.address();
  Write("state/glim/operator/token", token_ + "\n");
  Write("state/glim/operator/ca.pem", authority_.certificate.Pem());
  EXPECT_EQ(Glim({"queue"}).exit_code, 0);
  EXPECT_THAT(Heard(), ElementsAre("Bearer " + token_));
  EXPECT_THAT(Glim({"whoami", "-o", "json"}).out, HasSubstr("state/glim/operator/token"));
}

// What an agent does there: one line, and the end.
class LoginSocket {
 public:
  LoginSocket(const std::string& path, const std::string& line) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    thread_ = std::thread([this, line] {
      const int client = accept(fd_, nullptr, nullptr);
      EXPECT_EQ(write(client, line.data(), line.size()), static_cast<ssize_t>(line.size()));
      close(client);
    });
  }
  ~LoginSocket() {
    thread_.join();
    close(fd_);
  }

 private:
  int fd_;
  std::thread thread_;
};

TEST_F(LoginTest, AHostForLoginsGivesTokenServerAndAuthority) {
  json answer = {{"token", token_}, {"user", "kim"}, {"expires_at_ms", 0}, {"server", server_.address()}};
  answer["authorities"] = authority_.certificate.Pem();
  const LoginSocket agent(Path("login.sock"), answer.dump() + "\n");
  const GlimResult login = Glim({"login", "--socket", Path("login.sock")});
  EXPECT_EQ(login.exit_code, 0) << login.err;
  EXPECT_EQ(Glim({"queue"}).exit_code, 0);
  EXPECT_EQ(json::parse(Glim({"logout", "-o", "json"}).out)["revoked"], true);
}

TEST_F(LoginTest, ASocketThatAnybodyCouldHavePutThereIsNotAsked) {
  {
    const LoginSocket agent(
        Path("login.sock"),
        R"({"error":{"code":"PERMISSION_DENIED","reason":"NO_SUCH_USER","message":"uid 7 is nobody"}})"
        "\n");
    const GlimResult refused = Glim({"login", "--socket", Path("login.sock")});
    EXPECT_EQ(refused.exit_code, 4);
    EXPECT_THAT(refused.err, HasSubstr("uid 7 is nobody  [NO_SUCH_USER]"));
  }
  chmod(folder_.c_str(), 0777);
  EXPECT_THAT(Glim({"login", "--socket", Path("login.sock")}).err, HasSubstr("[NOT_TRUSTED]"));
  EXPECT_EQ(Glim({"login", "--socket", Path("none.sock")}).exit_code, 3);
  EXPECT_EQ(Glim({"login", "--socket", Path("none.sock"), "--oidc"}).exit_code, 2);
}

}  // namespace
}  // namespace glim::cli
