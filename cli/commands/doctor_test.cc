// glim doctor as a process, on machines with planted faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <map>

#include "cli/testing/identity_fixture.h"
#include "sdk/base/testing/waits.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class DoctorTest : public IdentityTest {
 protected:
  // The checks by name.
  std::map<std::string, json> Doctor(int exit_code, std::vector<std::string> words = {"doctor", "client"}) {
    words.insert(words.end(), {"-o", "json"});
    const GlimResult result = Glim(words);
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    EXPECT_THAT(result.out + result.err, Not(HasSubstr(token_.substr(token_.size() - 16))));
    EXPECT_LT(result.took, Slower(std::chrono::seconds(30)));
    std::map<std::string, json> checks;
    const json document = json::parse(result.out, nullptr, false);
    if (document.is_discarded()) return checks;
    for (const json& check : document["checks"]) checks[check["check"]] = check;
    return checks;
  }
};

TEST_F(DoctorTest, AMachineThatIsWellHasNoFaults) {
  KnowAll();
  auto checks = Doctor(0);
  for (const char* name : {"configuration", "token-file", "resolve", "port", "tls", "certificate"}) {
    EXPECT_EQ(checks[name]["result"], "ok") << checks[name];
  }
  EXPECT_THAT(checks["token"]["seen"].get<std::string>(), HasSubstr("kim, user"));
  const GlimResult table = Glim({"doctor", "client"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("0 faults"));
  EXPECT_THAT(Glim({"doctor", "--help"}).out, HasSubstr("glim doctor node -o json"));
  EXPECT_EQ(Glim({"doctor", "moon"}).exit_code, 2);
}

TEST_F(DoctorTest, ATokenFileThatOthersReadIsAFault) {
  KnowAll();
  chmod(Path("my-token").c_str(), 0644);
  auto checks = Doctor(1);
  EXPECT_EQ(checks["token-file"]["result"], "fault");
  EXPECT_THAT(checks["token-file"]["seen"].get<std::string>(), HasSubstr("OPEN_TO_OTHERS"));
  EXPECT_THAT(checks["token-file"]["fix"].get<std::string>(), HasSubstr("chmod 600"));
  EXPECT_EQ(checks["token"]["result"], "skipped");
  EXPECT_TRUE(Heard().empty()) << "the token was not sent";
}

TEST_F(DoctorTest, AServerThatIsNotThereIsAFaultOfItsPort) {
  KnowAll();
  env_["GLIM_SERVER"] = "127.0.0.1:1";
  auto checks = Doctor(1);
  EXPECT_EQ(checks["port"]["result"], "fault");
  EXPECT_EQ(checks["tls"]["result"], "skipped");
  env_["GLIM_SERVER"] = "no-such-host.invalid:7601";
  EXPECT_EQ(Doctor(1)["resolve"]["result"], "fault");
}

TEST_F(DoctorTest, AnotherAuthorityIsAFaultAndGetsNoToken) {
  KnowAll();
  env_["GLIM_CA"] = Write("other.pem", NewAuthority().certificate.Pem(), 0644);
  auto checks = Doctor(1);
  EXPECT_EQ(checks["tls"]["result"], "fault");
  EXPECT_THAT(checks["tls"]["seen"].get<std::string>(), HasSubstr("WRONG_AUTHORITY"));
  EXPECT_TRUE(Heard().empty());
}

TEST_F(DoctorTest, ACertificateThatHasEndedIsAFault) {
  KnowAll();
  const pki::PrivateKey key = pki::PrivateKey::Make();
  const pki::Lifetime over{RealNow() - Hours(2), RealNow() - Hours(1)};
  const pki::Certificate own = pki::TestScheduler(authority_, key, {}, over);
  const FakeServer late(Showing(key, own.Pem() + authority_.certificate.Pem()));
  env_["GLIM_SERVER"] = late.address();
  auto checks = Doctor(1);
  EXPECT_EQ(checks["certificate"]["result"], "fault");
  EXPECT_THAT(checks["certificate"]["seen"].get<std::string>(), HasSubstr("ended at"));
  EXPECT_EQ(checks["token"]["result"], "skipped");
}

TEST_F(DoctorTest, ABadFileIsAFaultWithItsPlaceAndStopsNothingElse) {
  KnowAll();
  Write("xdg/glim/config.yaml", "output: table\nservr: head:7601\n", 0644);
  EXPECT_EQ(Glim({"queue"}).exit_code, 2);
  auto checks = Doctor(1);
  EXPECT_EQ(checks["configuration"]["result"], "fault");
  EXPECT_THAT(checks["configuration"]["seen"].get<std::string>(), HasSubstr("config.yaml:2:1"));
  EXPECT_EQ(checks["port"]["result"], "skipped");
}

TEST_F(DoctorTest, AClientsFileThatIsNamedIsReadInsteadOfTheUsersOwn) {
  KnowAll();
  Write("xdg/glim/config.yaml", "servr: head:7601\n", 0644);
  const std::string broken = Write("mine.yaml", "output: table\nservr: head:7601\n", 0644);
  auto checks = Doctor(1, {"doctor", "client", "--config", broken});
  EXPECT_THAT(checks["configuration"]["seen"].get<std::string>(), HasSubstr("mine.yaml:2:1"));
  Write("mine.yaml", "output: table\n", 0644);
  checks = Doctor(0, {"doctor", "client", "--config", broken});
  EXPECT_EQ(checks["configuration"]["result"], "ok") << checks["configuration"];
  EXPECT_THAT(checks["configuration"]["seen"].get<std::string>(), HasSubstr("mine.yaml"));
  checks = Doctor(1, {"doctor", "client", "--config", Path("none.yaml")});
  EXPECT_THAT(checks["configuration"]["seen"].get<std::string>(), HasSubstr("cannot read"));
}

TEST_F(DoctorTest, TheDaemonsFilesAreReadByTheDaemons) {
  const std::string agent = Write("agent.yaml", "state_dir: " + Path("node") + "\nzon: A\n", 0644);
  auto node = Doctor(1, {"doctor", "node", "--config", agent});
  EXPECT_EQ(node["configuration"]["result"], "fault");
  EXPECT_THAT(node["configuration"]["seen"].get<std::string>(), HasSubstr("agent.yaml:2:1"));
  EXPECT_EQ(node["enrolment"]["result"], "skipped");
  Write("agent.yaml", "state_dir: " + Path("node") + "\n", 0644);
  node = Doctor(1, {"doctor", "node", "--config", agent});
  EXPECT_EQ(node["configuration"]["result"], "ok") << node["configuration"];
  EXPECT_THAT(node["enrolment"]["seen"].get<std::string>(), HasSubstr("not enrolled"));
  struct stat info {};
  EXPECT_NE(stat(Path("node").c_str(), &info), 0) << "a doctor changes nothing";

  Write("keys/cluster.key", "x", 0644);
  Write("store/glim.db", "", 0600);
  chmod(Path("store").c_str(), 0777);
  const std::string server = Write(
      "scheduler.yaml",
      "store: sqlite:" + Path("store/glim.db") + "\nkey_file: " + Path("keys/cluster.key") + "\nlisten: 127.0.0.1:1\n",
      0644);
  auto checks = Doctor(1, {"doctor", "server", "--config", server});
  EXPECT_EQ(checks["configuration"]["result"], "ok") << checks["configuration"];
  EXPECT_THAT(checks["store"]["seen"].get<std::string>(), HasSubstr("may be written by others"));
  EXPECT_THAT(checks["key-file"]["seen"].get<std::string>(), HasSubstr("open to others"));
  EXPECT_EQ(checks["certificate"]["result"], "skipped");
  Write("scheduler.yaml", "listen: nowhere\n", 0644);
  EXPECT_EQ(Doctor(1, {"doctor", "server", "--config", server})["configuration"]["result"], "fault");
}

}  // namespace
}  // namespace glim::cli
