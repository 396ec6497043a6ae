// What each check says of what was seen: tables of facts and verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "cli/doctor/client_checks.h"
#include "cli/doctor/doctor_view.h"
#include "cli/doctor/node_checks.h"
#include "cli/doctor/server_checks.h"
#include "sdk/pki/testing/authorities.h"

namespace glim::cli::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kGib = std::int64_t{1} << 30;

// Whatever is wrong says how it is mended.
void Expect(const Outcome& outcome, Verdict verdict, const std::string& words) {
  EXPECT_EQ(WordOf(outcome.verdict), std::string(WordOf(verdict))) << outcome.seen;
  EXPECT_THAT(outcome.seen, HasSubstr(words));
  const bool wrong = verdict == Verdict::kFault || verdict == Verdict::kWarning;
  EXPECT_TRUE(!wrong || !outcome.fix.empty()) << outcome.seen;
}

FileFacts Folder(mode_t mode, uid_t owner = 0) { return {true, true, mode, owner, 0}; }
FileFacts File(mode_t mode, uid_t owner = 0) { return {true, false, mode, owner, 0}; }
FileFacts Nothing(int error = ENOENT) { return {false, false, 0, 0, error}; }

TEST(Checks, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Check& check : AllChecks()) {
    EXPECT_TRUE(names.insert(std::string(WordOf(check.role)) + "/" + check.name).second) << check.name;
  }
}

TEST(Checks, FaultsAreShownFirst) {
  const std::vector<Finding> findings = InOrder({{&CheckNamed(Role::kNode, "shm"), Good("a")},
                                                 {&CheckNamed(Role::kNode, "clock"), Skipped("b")},
                                                 {&CheckNamed(Role::kNode, "memory"), Warning("c", "do")},
                                                 {&CheckNamed(Role::kNode, "units"), Fault("d\x1b[2J", "mend")},
                                                 {&CheckNamed(Role::kNode, "disk"), Fault("e", "mend")}});
  std::string order;
  for (const Finding& finding : findings) order += finding.outcome.seen.front();
  EXPECT_EQ(order, "edcba");
  const std::string text = FindingsText(findings, false);
  EXPECT_THAT(text, HasSubstr("2 faults, 1 warning, 1 skipped, 1 ok\n"));
  EXPECT_THAT(text, HasSubstr("node disk fault: e\n  why: a node whose disk is full starts nothing\n  fix: mend\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const Json document = FindingsJson({Role::kNode}, findings);
  EXPECT_EQ(document["counts"]["fault"], 2);
  EXPECT_EQ(document["checks"][0]["check"], "disk");
  EXPECT_EQ(document["checks"][0]["result"], "fault");
}

TEST(ClientVerdicts, AConfigurationThatIsWrongSaysWhere) {
  ClientFacts facts;
  facts.settings.server = "head:7601";
  facts.settings.server_named = true;
  facts.files = {"/etc/glim/config.yaml"};
  Expect(JudgeConfiguration(facts), Verdict::kOk, "/etc/glim/config.yaml; the server is head:7601");
  facts.warnings = {".glim.yaml is left out: another user owns it or may write it"};
  Expect(JudgeConfiguration(facts), Verdict::kWarning, "is left out");
  facts.configuration = Status(StatusCode::kInvalidArgument, "config.yaml:3:1: servr: is unknown").WithFix("server");
  Expect(JudgeConfiguration(facts), Verdict::kFault, "config.yaml:3:1");
}

TEST(ClientVerdicts, TheTokenFileIsPrivateAndThere) {
  Settings settings;
  Identity identity;
  identity.token_file = "/home/kim/.config/glim/token";
  Expect(JudgeTokenFile(settings, identity), Verdict::kFault, "no file holds a token");
  identity.token = "glim_secret";
  Expect(JudgeTokenFile(settings, identity), Verdict::kOk, identity.token_file);
  EXPECT_THAT(JudgeTokenFile(settings, identity).seen, Not(HasSubstr("glim_secret")));
  const Status open = Status(StatusCode::kPermissionDenied, "others can read it").WithReason("OPEN_TO_OTHERS");
  Expect(JudgeTokenFile(settings, open), Verdict::kFault, "[OPEN_TO_OTHERS]");
  settings.insecure = true;
  Expect(JudgeTokenFile(settings, open), Verdict::kSkipped, "");
}

TEST(ClientVerdicts, TheServerIsOfTheAuthorityThatIsKnown) {
  const pki::Authority authority = pki::TestAuthority(), other = pki::TestAuthority();
  const pki::PrivateKey key = pki::PrivateKey::Make();
  const std::vector<pki::Certificate> shown = {pki::TestScheduler(authority, key)};
  Settings settings;
  Identity known;
  known.authorities = authority.certificate.Pem();
  known.fingerprint = authority.certificate.fingerprint();
  Expect(JudgeTls(settings, known, shown, pki::kTestNow), Verdict::kOk, known.fingerprint);
  Identity stranger;
  stranger.authorities = other.certificate.Pem();
  stranger.fingerprint = other.certificate.fingerprint();
  Expect(JudgeTls(settings, stranger, shown, pki::kTestNow), Verdict::kFault, "WRONG_AUTHORITY");
  const Status none = Status(StatusCode::kUnavailable, "no TLS there").WithReason("NOT_TLS");
  Expect(JudgeTls(settings, known, none, pki::kTestNow), Verdict::kFault, "NOT_TLS");
  settings.insecure = true;
  Expect(JudgeTls(settings, known, shown, pki::kTestNow), Verdict::kFault, "asked without");
  Expect(JudgeTls(settings, known, none, pki::kTestNow), Verdict::kWarning, "no TLS");
}

TEST(ClientVerdicts, ACertificateIsInTime) {
  const pki::Certificate shown = pki::TestScheduler(pki::TestAuthority(), pki::PrivateKey::Make());
  Expect(JudgeServerCertificate(shown, pki::kTestNow), Verdict::kOk, "until");
  Expect(JudgeServerCertificate(shown, pki::kTestNow + Hours(8'700)), Verdict::kWarning, "ends at");
  Expect(JudgeServerCertificate(shown, pki::kTestNow + Hours(9'000)), Verdict::kFault, "ended at");
  Expect(JudgeServerCertificate(shown, pki::kTestNow - Hours(1)), Verdict::kFault, "begins at");
}

TEST(ClientVerdicts, ATokenCountsForAWhile) {
  glim::v1::WhoAmIResponse who;
  who.set_user("kim");
  who.set_role("user");
  Expect(JudgeToken(who, false, TimePoint{1000}), Verdict::kOk, "kim, user; the token never ends");
  who.set_expires_at_ms(Hours(100).ms);
  Expect(JudgeToken(who, false, TimePoint{0}), Verdict::kOk, "ends in");
  Expect(JudgeToken(who, false, TimePoint{Hours(99).ms}), Verdict::kWarning, "ends in 1 h");
  const Status revoked = Status(StatusCode::kUnauthenticated, "the token counts no more").WithReason("BAD_TOKEN");
  Expect(JudgeToken(revoked, false, TimePoint{0}), Verdict::kFault, "[BAD_TOKEN]");
}

TEST(ClientVerdicts, ReleasesAndClocks) {
  glim::v1::GetVersionResponse server;
  server.set_version("0.3.9");
  Expect(JudgeVersion("0.3.1", server), Verdict::kOk, "glim 0.3.1, scheduler 0.3.9");
  Expect(JudgeVersion("0.2.1", server), Verdict::kWarning, "scheduler 0.3.9");
  Expect(JudgeVersion("0.2.1", Status(StatusCode::kUnavailable, "gone")), Verdict::kSkipped, "");
  Expect(JudgeClock(ClockState::kSynchronised), Verdict::kOk, "");
  Expect(JudgeClock(ClockState::kNotSynchronised), Verdict::kWarning, "nothing synchronises it");
  Expect(JudgeClock(ClockState::kUnknown), Verdict::kSkipped, "");
}

TEST(ClientVerdicts, TheCheckpointRootIsTheNodesOwn) {
  WorkdirFacts facts;
  facts.folder = "/home/kim";
  Expect(JudgeWorkdir(facts), Verdict::kSkipped, "no checkpoint root");
  facts.root = "/shared/glim";
  facts.marker = ".glim-root-c1";
  Expect(JudgeWorkdir(facts), Verdict::kWarning, "is not on this machine");
  facts.root_there = true;
  Expect(JudgeWorkdir(facts), Verdict::kFault, "has no .glim-root-c1");
  facts.marker_there = true;
  Expect(JudgeWorkdir(facts), Verdict::kOk, "/shared/glim");
  facts.in_node_memory = true;
  Expect(JudgeWorkdir(facts), Verdict::kWarning, "/home/kim lies in this machine's memory");
}

TEST(NodeVerdicts, Enrolment) {
  const pki::Authority authority = pki::TestAuthority(), other = pki::TestAuthority();
  const pki::PrivateKey key = pki::PrivateKey::Make();
  const pki::Certificate own = pki::TestNode(authority, key);
  EnrolmentFacts facts{false, "/var/lib/glim-agent/identity", Folder(0700), true, ""};
  facts.text = CertificatesOf("scheduler head:7603\n" + key.Pem() + own.Pem() + authority.certificate.Pem());
  EXPECT_THAT(facts.text, Not(HasSubstr("PRIVATE KEY")));
  Expect(JudgeEnrolment(facts, pki::kTestNow), Verdict::kOk, "n1 of cluster c1, until");
  Expect(JudgeEnrolment(facts, pki::kTestNow + Hours(700)), Verdict::kWarning, "should have been renewed");
  Expect(JudgeEnrolment(facts, pki::kTestNow + Hours(800)), Verdict::kFault, "not in time");
  EnrolmentFacts broken = facts;
  broken.text = own.Pem() + other.certificate.Pem();
  Expect(JudgeEnrolment(broken, pki::kTestNow), Verdict::kFault, "n1: ");
  broken.folder = Folder(0755);
  Expect(JudgeEnrolment(broken, pki::kTestNow), Verdict::kFault, "open to others");
  broken.may_read = false;
  Expect(JudgeEnrolment(broken, pki::kTestNow), Verdict::kSkipped, "only the agent's user");
  broken.folder = Nothing();
  Expect(JudgeEnrolment(broken, pki::kTestNow), Verdict::kFault, "not enrolled");
  broken.folder = Nothing(EACCES);
  Expect(JudgeEnrolment(broken, pki::kTestNow), Verdict::kSkipped, "only the agent's user");
  broken.without_identity = true;
  Expect(JudgeEnrolment(broken, pki::kTestNow), Verdict::kWarning, "without identity");
}

TEST(NodeVerdicts, TheKernel) {
  const NodeWishes containers, plain{false, "process", "ethernet", "auto"};
  Expect(JudgeKernel(containers, "6.1.0-13-amd64"), Verdict::kOk, "Linux 6.1.0");
  Expect(JudgeKernel(containers, "5.13.2"), Verdict::kWarning, "5.13.2");
  Expect(JudgeKernel(containers, "5.10.0-9-amd64"), Verdict::kFault, "does not mount by descriptor");
  Expect(JudgeKernel(plain, "5.10.0-9-amd64"), Verdict::kWarning, "5.10");
  Expect(JudgeSeccomp(containers, "kill_process errno allow"), Verdict::kOk, "");
  Expect(JudgeSeccomp(containers, ""), Verdict::kFault, "no filters");
  Expect(JudgeSeccomp(plain, ""), Verdict::kSkipped, "");
  Expect(JudgeUserNamespaces(containers, "127000"), Verdict::kOk, "127000");
  Expect(JudgeUserNamespaces(containers, "0"), Verdict::kWarning, "allows none");
  NodeWishes must = containers;
  must.user_namespace = "yes";
  Expect(JudgeUserNamespaces(must, ""), Verdict::kFault, "allows none");
  Expect(JudgeUserNamespaces(plain, ""), Verdict::kSkipped, "");
}

TEST(NodeVerdicts, ControlGroups) {
  const NodeWishes wishes, plain{false, "process", "ethernet", "auto"};
  NodeWishes crun;
  crun.runtime = "crun";
  const std::vector<std::string> all = {"cpu", "io", "memory", "pids"};
  Expect(JudgeCgroups(wishes, {true, false, false, all, ""}), Verdict::kOk, "version 2: cpu, io, memory, pids");
  Expect(JudgeCgroups(wishes, {true, false, false, {"cpu", "pids"}, "/glim.slice"}), Verdict::kFault,
         "of /glim.slice, without memory");
  Expect(JudgeCgroups(plain, {true, false, false, {"cpu"}, ""}), Verdict::kOk, "version 2");
  Expect(JudgeCgroups(wishes, {false, true, true, all, ""}), Verdict::kWarning, "versions 1 and 2");
  Expect(JudgeCgroups(crun, {false, true, true, all, ""}), Verdict::kFault, "crun does not take");
  Expect(JudgeCgroups(wishes, {}), Verdict::kFault, "no control groups");
}

TEST(NodeVerdicts, TheRuntime) {
  const NodeWishes wishes, plain{false, "process", "ethernet", "auto"};
  const auto ended = [](int code, const std::string& out) { return ProgramEnd{true, true, code, out, ""}; };
  Expect(JudgeRuntime(wishes, {"/usr/sbin/runc", ended(0, "runc version 1.1.5+ds1\ncommit: 9\n")}), Verdict::kOk,
         "/usr/sbin/runc: runc version 1.1.5+ds1");
  Expect(JudgeRuntime(wishes, {"/usr/sbin/runc", ended(0, "runc version 1.0.3\n")}), Verdict::kWarning, "older");
  Expect(JudgeRuntime(wishes, {"/usr/sbin/runc", ended(0, "hello\n")}), Verdict::kWarning, "tells no version");
  Expect(JudgeRuntime(wishes, {"/bin/false", ended(1, "")}), Verdict::kFault, "ends with status 1");
  Expect(JudgeRuntime(wishes, {"/bin/cat", {true, false, -1, "", ""}}), Verdict::kFault, "does not end");
  Expect(JudgeRuntime(wishes, {}), Verdict::kFault, "no program runc");
  Expect(JudgeRuntime(plain, {}), Verdict::kWarning, "nothing confines them");
}

TEST(NodeVerdicts, ProgramsAndLimits) {
  Expect(JudgePrograms({"/usr/bin", {}, "/usr/share/glim/sdk", true}), Verdict::kOk, "all in /usr/bin");
  Expect(JudgePrograms({"/usr/bin", {}, "/usr/share/glim/sdk", false}), Verdict::kWarning, "no SDK");
  Expect(JudgePrograms({"/usr/bin", {"glim-init"}, "", true}), Verdict::kFault, "/usr/bin lacks glim-init");
  Expect(JudgePrograms({}), Verdict::kSkipped, "no glim-agent");
  const Limits limits = ParseLimits(
      "Limit                     Soft Limit           Hard Limit           Units\n"
      "Max open files            1024                 4096                 files\n"
      "Max locked memory         65536                unlimited            bytes\n");
  EXPECT_EQ(limits.open_files_hard, 4096);
  EXPECT_EQ(limits.locked_bytes_hard, -1);
  NodeWishes infiniband;
  infiniband.nic = "infiniband";
  Expect(JudgeMemlock(infiniband, limits), Verdict::kOk, "no limit");
  Expect(JudgeMemlock(infiniband, {true, -1, 65536}), Verdict::kWarning, "64.0 KiB");
  Expect(JudgeMemlock({}, {true, -1, 65536}), Verdict::kOk, "Ethernet");
  Expect(JudgeMemlock(infiniband, {}), Verdict::kSkipped, "does not run");
  Expect(JudgeDescriptors("glim-agent", limits, 65536), Verdict::kWarning, "4096");
  Expect(JudgeDescriptors("glim-agent", {true, 1048576, -1}, 65536), Verdict::kOk, "1048576");
}

TEST(NodeVerdicts, TheNetwork) {
  NodeWishes infiniband, roce;
  infiniband.nic = "infiniband";
  roce.nic = "roce";
  const RdmaPortFacts up{"mlx5_0:1", "ACTIVE", "InfiniBand", "200 Gb/sec (4X HDR)"},
      down{"mlx5_1:1", "DOWN", "InfiniBand", "10 Gb/sec"};
  const InterfaceFacts ethernet{"eth0", true, 25000};
  Expect(JudgeNetwork(infiniband, {{up}, {ethernet}}), Verdict::kOk, "mlx5_0:1 InfiniBand 200 Gb/sec");
  Expect(JudgeNetwork(infiniband, {{up, down}, {}}), Verdict::kWarning, "not active: mlx5_1:1 DOWN");
  Expect(JudgeNetwork(infiniband, {{down}, {ethernet}}), Verdict::kFault, "no port of InfiniBand is active");
  Expect(JudgeNetwork(roce, {{up}, {ethernet}}), Verdict::kFault, "no port of Ethernet is active");
  Expect(JudgeNetwork({}, {{}, {ethernet}}), Verdict::kOk, "eth0 25000 Mbit/s");
  Expect(JudgeNetwork({}, {{}, {{"eth0", false, 0}}}), Verdict::kFault, "no network interface is up");
}

TEST(NodeVerdicts, TheSharedRoot) {
  SharedRootFacts facts;
  Expect(JudgeSharedRoot(facts), Verdict::kSkipped, "no folder that jobs may name");
  facts.root = "/shared/glim";
  facts.jobs = Nothing();
  Expect(JudgeSharedRoot(facts), Verdict::kWarning, "no folder jobs");
  facts.jobs = Folder(0711);
  Expect(JudgeSharedRoot(facts), Verdict::kOk, "root's files are root's");
  facts.jobs = Folder(0711, 65534);
  Expect(JudgeSharedRoot(facts), Verdict::kFault, "belongs to nobody");
  facts.jobs = Folder(01777, 65534);
  Expect(JudgeSharedRoot(facts), Verdict::kOk, "squashes root");
  facts.of_nobody = 3;
  Expect(JudgeSharedRoot(facts), Verdict::kFault, "users' files are not theirs");
  facts.of_nobody = 0;
  facts.jobs = Folder(0755, 1001);
  Expect(JudgeSharedRoot(facts), Verdict::kWarning, "belongs to uid 1001");
  facts.jobs = Folder(0711);
  facts.missing = {"/data2"};
  Expect(JudgeSharedRoot(facts), Verdict::kWarning, "not there: /data2");
}

TEST(NodeVerdicts, Amounts) {
  const std::uint64_t gib = std::uint64_t{1} << 30;
  const RoomFacts roomy{100 * gib, 50 * gib, 1000000, 900000, false, 0};
  RoomFacts full = roomy, narrow = roomy, inodes = roomy;
  full.bytes_free = std::uint64_t{1} << 20;
  narrow.bytes_free = 2 * gib;
  inodes.inodes_free = 10;
  Expect(JudgeRooms({{"/s", roomy}, {"/tmp", roomy}}), Verdict::kOk, "/s has 50.0 GiB free");
  Expect(JudgeRooms({{"/s", roomy}, {"/tmp", narrow}}), Verdict::kWarning, "/tmp has 2.0 GiB of 100.0 GiB left");
  Expect(JudgeRooms({{"/s", full}}), Verdict::kFault, "/s has 1.0 MiB");
  Expect(JudgeRooms({{"/s", inodes}}), Verdict::kFault, "10 inodes");
  RoomFacts missing;
  missing.error = ENOENT;
  Expect(JudgeRooms({{"/s", missing}}), Verdict::kWarning, "/s: No such file or directory");
  EXPECT_THAT(JudgeRooms({{"/s", missing}}).fix, HasSubstr("see that the folder is there"));
  Expect(JudgeShm({8 * gib, 8 * gib, 0, 0, true, 0}), Verdict::kOk, "8.0 GiB");
  Expect(JudgeShm({8 * gib, 8 * gib, 0, 0, false, 0}), Verdict::kWarning, "no tmpfs");
  Expect(JudgeShm({0, 0, 0, 0, false, ENOENT}), Verdict::kFault, "no /dev/shm");
  const MemoryFacts read = ParseMemory("MemTotal:       67108864 kB\nMemFree: 1 kB\nMemAvailable:   33554432 kB\n");
  EXPECT_EQ(read.total, 64 * kGib);
  Expect(JudgeMemory(read), Verdict::kOk, "32.0 GiB of 64.0 GiB free; 3.2 GiB");
  Expect(JudgeMemory({64 * kGib, 2 * kGib, 8 * kGib}), Verdict::kWarning, "2.0 GiB");
  Expect(JudgeMemory({64 * kGib, 60 * kGib, 64 * kGib}), Verdict::kFault, "64.0 GiB");
  Expect(JudgeAccounts({{"glim-job", true, "task_user"}}), Verdict::kOk, "glim-job");
  Expect(JudgeAccounts({{"glim-job", false, "task_user"}}), Verdict::kFault, "no account glim-job");
}

TEST(SharedVerdicts, PortsUnitsAndSettings) {
  Expect(JudgePorts("glim-scheduler", {{"listen", 7601, {true, "glim-scheduler"}}, {"metrics", 7602, {}}}),
         Verdict::kOk, "listen 7601 its own, metrics 7602 free");
  Expect(JudgePorts("glim-scheduler", {{"listen", 7601, {true, "nginx"}}}), Verdict::kFault, "nginx listens at port");
  Expect(JudgePorts("glim-scheduler", {{"listen", 7601, {true, ""}}}), Verdict::kOk, "only root can tell");
  const auto unit = [](const char* active, const char* enabled) {
    return UnitFacts{"glim-agent.service", true, active, enabled, "exit-code", true};
  };
  Expect(JudgeUnits(true, {unit("active", "enabled")}), Verdict::kOk, "active, enabled");
  Expect(JudgeUnits(true, {unit("active", "disabled")}), Verdict::kWarning, "not enabled");
  Expect(JudgeUnits(true, {unit("failed", "enabled")}), Verdict::kFault, "has failed (exit-code)");
  Expect(JudgeUnits(true, {unit("inactive", "enabled")}), Verdict::kFault, "does not run");
  Expect(JudgeUnits(false, {}), Verdict::kSkipped, "systemd does not run");
  Expect(JudgeSettings("glim-agent", {"/b/glim-agent", "/a.yaml", {true, true, 0, "", ""}}), Verdict::kOk, "/a.yaml");
  Expect(JudgeSettings("glim-agent", {"/b/glim-agent", "/a.yaml", {true, true, 2, "", "/a.yaml:2:1: zon: unknown\n"}}),
         Verdict::kFault, "/a.yaml:2:1: zon: unknown");
  Expect(JudgeSettings("glim-agent", {"/b/glim-agent", "", {true, false, -1, "", ""}}), Verdict::kFault, "in time");
  Expect(JudgeSettings("glim-agent", {"/b/glim-agent", "", {true, true, 0, "", ""}}), Verdict::kWarning, "no configu");
  Expect(JudgeSettings("glim-agent", {}), Verdict::kFault, "no program glim-agent");
}

TEST(ServerVerdicts, TheStore) {
  const std::string path = "/var/lib/glim/glim.db";
  const RoomFacts disk{1, 1, 1, 1, false, 0}, memory{1, 1, 1, 1, true, 0};
  Expect(JudgeSqlite({path, File(0600, 7), Folder(0700, 7), disk}), Verdict::kOk, path);
  Expect(JudgeSqlite({path, Nothing(), Folder(0700, 7), disk}), Verdict::kOk, "made at the first start");
  Expect(JudgeSqlite({path, File(0600), Folder(0700, 7), disk}), Verdict::kFault, "belongs to uid 0");
  Expect(JudgeSqlite({path, File(0600, 7), Folder(0777, 7), disk}), Verdict::kFault, "may be written by others");
  Expect(JudgeSqlite({path, File(0644, 7), Folder(0755, 7), disk}), Verdict::kWarning, "may be read by others");
  Expect(JudgeSqlite({path, File(0600, 7), Folder(0700, 7), memory}), Verdict::kFault, "lies in memory");
  Expect(JudgeSqlite({path, Nothing(), Nothing(), disk}), Verdict::kFault, "no folder /var/lib/glim");
  Expect(JudgeSqlite({path, Nothing(EACCES), Folder(0700, 7), disk}), Verdict::kSkipped, "only the scheduler's user");
  const auto said = [](const char* text) { return ProgramEnd{true, true, 0, text, ""}; };
  Expect(JudgePostgres(said("store: postgres\nstore_version: 15.3\n"), "root"), Verdict::kOk, "PostgreSQL 15.3");
  Expect(JudgePostgres(said("store_version: 11.2\n"), "root"), Verdict::kFault, "PostgreSQL 11.2");
  Expect(JudgePostgres(said("store_fault: no route\n"), "root"), Verdict::kFault, "asked by root: no route");
  Expect(JudgePostgres({true, false, -1, "", ""}, "root"), Verdict::kFault, "does not answer");
}

TEST(ServerVerdicts, TheKeyFileAndThePorts) {
  const std::string path = "/var/lib/glim-keys/cluster.key";
  Expect(JudgeKeyFile({path, File(0600), false, true, false}), Verdict::kOk, path);
  Expect(JudgeKeyFile({path, File(0640), false, true, false}), Verdict::kFault, "open to others");
  Expect(JudgeKeyFile({path, File(0600), true, true, false}), Verdict::kWarning, "beside the store");
  Expect(JudgeKeyFile({path, Nothing(), false, true, false}), Verdict::kFault, "no key file");
  Expect(JudgeKeyFile({path, Nothing(), false, false, false}), Verdict::kOk, "first start");
  Expect(JudgeKeyFile({path, Nothing(EACCES), false, true, false}), Verdict::kSkipped, "only the scheduler's user");
  Expect(JudgeKeyFile({"", Nothing(), false, true, true}), Verdict::kSkipped, "");
  Expect(JudgeMetrics("none", Status::Ok()), Verdict::kWarning, "no alert");
  Expect(JudgeMetrics("127.0.0.1:7602", Status::Ok()), Verdict::kOk, "127.0.0.1:7602");
  Expect(JudgeMetrics("127.0.0.1:7602", {StatusCode::kUnavailable, "refused"}), Verdict::kWarning, "refused");
  EXPECT_EQ(ReachedHere("0.0.0.0:7601"), "127.0.0.1:7601");
  EXPECT_EQ(ReachedHere("[::]:7601"), "[::1]:7601");
  EXPECT_EQ(ReachedHere("10.0.0.1:7601"), "10.0.0.1:7601");
  EXPECT_THAT(*VersionIn("runc version 1.1.5+ds1"), ElementsAre(1, 1, 5));
  EXPECT_FALSE(VersionIn("none").has_value());
}

}  // namespace
}  // namespace glim::cli::doctor
