// The HTTP port of a real scheduler: what it answers, to whom, in which words.
#include "scheduler/gateway/gateway.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>

#include <set>

#include "scheduler/gateway/answers.h"
#include "scheduler/gateway/request_fields.h"
#include "scheduler/gateway/routes.h"
#include "scheduler/gateway/testing/http_server_fixture.h"
#include "scheduler/server/door/permissions.h"

namespace glim::gateway {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class GatewayTest : public HttpServerTest {
 protected:
  std::uint64_t MustSubmit(const std::string& name) { return SubmitBy(TokenOf("kim"), Spec(name)); }
};

TEST_F(GatewayTest, AnswersInTheCommandLinesDialect) {
  const std::uint64_t id = MustSubmit("sft");
  const HttpReply reply = Ask("GET", "/v1/jobs/" + std::to_string(id), TokenOf("kim"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  v1::GetJobRequest request;
  request.set_job_id(id);
  v1::GetJobResponse response;
  ASSERT_TRUE(
      server::TokenServerTest::Ask(client_.get(), &v1::ClientApi::Stub::GetJob, TokenOf("kim"), request, &response)
          .ok());
  EXPECT_EQ(reply.body, DumpDocument(Document(response)));
  const proto::Json document = reply.Json();
  EXPECT_EQ(document["version"], 2);
  EXPECT_EQ(document["job"]["spec"]["name"], "sft");
  EXPECT_TRUE(document["job"].contains("gpus"));
  EXPECT_TRUE(document["job"]["submitted_at"].is_string());
}

TEST_F(GatewayTest, SubmitsJobsFromJsonAndFromJobFiles) {
  const proto::Json spec = proto::MessageJson(Spec("from-json"));
  proto::Json body;
  body["specs"] = proto::Json::array({spec});
  const HttpReply json = Ask("POST", "/v1/jobs", TokenOf("kim"), body.dump());
  ASSERT_EQ(json.status, 200) << json.body;
  EXPECT_EQ(json.Json()["job_ids"].size(), 1U);
  const auto yaml = [&](const std::string& text) {
    return Connect().Ask("POST", "/v1/jobs",
                         {{"Authorization", "Bearer " + TokenOf("kim")}, {"Content-Type", "application/yaml"}}, text);
  };
  const HttpReply file = yaml("{name: from-yaml, run: ./train.sh, workdir: /data/kim, nodes: 1}");
  ASSERT_EQ(file.status, 200) << file.body;
  EXPECT_NE(yaml("[[").Json()["error"]["fix"], "") << "each refusal says how to mend it";
  const HttpReply relative = yaml("{name: a, run: x, workdir: src}");
  EXPECT_EQ(relative.status, 400);
  EXPECT_THAT(relative.Json()["error"]["field"].get<std::string>(), HasSubstr("workdir"));
  EXPECT_FALSE(relative.Json()["error"]["fix"].get<std::string>().empty());
  const HttpReply packed = yaml("{name: a, run: x, workdir: /data/kim, code: snapshot}");
  EXPECT_EQ(packed.status, 400);
  const HttpReply huge = yaml("{name: a, run: '" + std::string(std::size_t{1536} << 10, 'x') + "'}");
  EXPECT_EQ(huge.status, 413);
  EXPECT_EQ(huge.Reason(), "BODY_TOO_LARGE");
  const HttpReply broken = yaml("{name: a, run: x, workdir: /data/kim, noodes: 2}");
  EXPECT_EQ(broken.status, 400);
  EXPECT_THAT(broken.body, HasSubstr("nodes"));
}

// A document's version is that of its form, whatever the message has.
TEST_F(GatewayTest, TheSchedulersVersionHasANameOfItsOwn) {
  const proto::Json all = Ask("GET", "/v1/version", TokenOf("kim")).Json();
  EXPECT_EQ(all["version"], 2);
  EXPECT_TRUE(all["scheduler_version"].is_string());
  EXPECT_TRUE(all.contains("protocol_version"));
  const proto::Json one = Ask("GET", "/v1/version?fields=scheduler_version", TokenOf("kim")).Json();
  EXPECT_EQ(one, (proto::Json{{"version", 2}, {"scheduler_version", all["scheduler_version"]}}));
  EXPECT_EQ(Ask("GET", "/v1/whoami?fields=scheduler_version", TokenOf("kim")).status, 400);
}

TEST_F(GatewayTest, RefusalsHaveTheirStatusAndSayHowToMendThem) {
  const struct {
    const char *verb, *target, *user, *body, *reason;
    int status;
  } rows[] = {
      {"GET", "/v1/jobs", "", "", "NO_TOKEN", 401},
      {"GET", "/v1/jobs/4711", "kim", "", "NO_SUCH_JOB", 404},
      {"GET", "/v1/jobs/seven", "kim", "", "BAD_FIELD", 400},
      {"GET", "/v1/jobs?page_sise=3", "kim", "", "BAD_FIELD", 400},
      {"GET", "/v1/jobs?page_size=-1", "kim", "", "BAD_FIELD", 400},
      {"GET", "/v1/jobs?fields=jobs.nme", "kim", "", "BAD_FIELD", 400},
      {"GET", "/v1/audit", "kim", "", "ROLE", 403},
      {"POST", "/v1/jobs", "kim", "{\"specs\": [{\"nodes\": \"2\"}]}", "BAD_FIELD", 400},
      {"POST", "/v1/jobs", "kim", "{", "BAD_JSON", 400},
      {"POST", "/v1/jobs/7/cancel", "kim", "{\"job_id\": 8}", "BAD_FIELD", 400},
      {"GET", "/v1/nothing", "kim", "", "NO_SUCH_PATH", 404},
      {"GET", "/v1/jobs/%zz", "kim", "", "NO_SUCH_PATH", 404},
      {"PATCH", "/v1/jobs", "kim", "", "BAD_VERB", 405},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.verb) + " " + row.target);
    const HttpReply reply = Ask(row.verb, row.target, *row.user ? TokenOf(row.user) : "", row.body);
    EXPECT_EQ(reply.status, row.status) << reply.body;
    EXPECT_EQ(reply.Reason(), row.reason) << reply.body;
    const proto::Json document = reply.Json();
    EXPECT_EQ(document["version"], 2);
    EXPECT_FALSE(document["error"]["message"].get<std::string>().empty());
    EXPECT_FALSE(document["error"]["fix"].get<std::string>().empty()) << reply.body;
  }
  EXPECT_EQ(Ask("PATCH", "/v1/jobs", TokenOf("kim")).headers.at("allow"), "OPTIONS, GET, HEAD, POST");
  const HttpReply form = Connect().Ask(
      "POST", "/v1/plan", {{"Authorization", "Bearer " + TokenOf("kim")}, {"Content-Type", "text/plain"}}, "{}");
  EXPECT_EQ(form.status, 415);
}

// The gateway decides nothing about rights: each route, by a token of each role, ends as the RPC by gRPC does.
TEST_F(GatewayTest, EachRouteInEachRoleEndsAsItsRpcDoes) {
  for (const char* user : {"vera", "kim", "tess", "ora", ""}) {
    const std::string token = *user ? TokenOf(user) : "";
    for (const Route& route : Routes()) {
      const bool denied_expected = [&] {
        const auto* const row = server::FindPermission("/glim.v1." + route.method);
        if (row == nullptr) return true;
        if (row->callers == server::Callers::kAnybody) return false;
        const std::map<std::string, core::Role> roles = {{"vera", core::Role::kViewer},
                                                         {"kim", core::Role::kUser},
                                                         {"tess", core::Role::kTeamAdmin},
                                                         {"ora", core::Role::kOperator},
                                                         {"", core::Role::kNone}};
        return roles.at(user) < row->least;
      }();
      std::string target(route.pattern);
      for (std::size_t at = target.find('{'); at != std::string::npos; at = target.find('{')) {
        target.replace(at, target.find('}') - at + 1, "4711");
      }
      const HttpReply reply = Ask(std::string(route.verb), target, token);
      const std::set<std::string> doors = {"NO_TOKEN", "ROLE", "SCOPE"};
      if (reply.status == 501) continue;  // nobody's: this scheduler does not have it
      const bool denied = (reply.status == 401 || reply.status == 403) && doors.contains(reply.Reason());
      EXPECT_EQ(denied, denied_expected) << route.verb << " " << target << " by " << user << ": " << reply.status << " "
                                         << reply.body;
    }
  }
}

TEST_F(GatewayTest, MasksTagsAndHeads) {
  MustSubmit("one");
  const std::string token = TokenOf("kim");
  const HttpReply masked = Ask("GET", "/v1/jobs?fields=jobs.id,jobs.spec.name", token);
  ASSERT_EQ(masked.status, 200) << masked.body;
  EXPECT_EQ(masked.body, "{\"version\":2,\"jobs\":[{\"id\":1,\"spec\":{\"name\":\"one\"}}]}\n");
  const std::string tag = masked.headers.at("etag");
  const HttpReply same = Ask("GET", "/v1/jobs?fields=jobs.id,jobs.spec.name", token, "", {{"If-None-Match", tag}});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  const HttpReply head = Ask("HEAD", "/v1/jobs?fields=jobs.id,jobs.spec.name", token);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.headers.at("content-length"), std::to_string(masked.body.size()));
  EXPECT_EQ(Ask("OPTIONS", "/v1/jobs").status, 204);
}

TEST_F(GatewayTest, AMaskThatIsRefusedChangesNothing) {
  const std::string job = "/v1/jobs/" + std::to_string(MustSubmit("one")), token = TokenOf("kim");
  const HttpReply refused = Ask("POST", job + "/cancel?fields=no.such", token);
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_EQ(refused.Json()["error"]["field"], "fields");
  EXPECT_EQ(Ask("GET", job, token).Json()["job"]["state"], "queued");
}

TEST_F(GatewayTest, TheDescriptionIsForAnybody) {
  const HttpReply reply = Ask("GET", "/v1/openapi.json");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.Json()["openapi"], "3.1.0");
  EXPECT_EQ(Ask("GET", "/v1/openapi.json", "", "", {{"If-None-Match", reply.headers.at("etag")}}).status, 304);
  EXPECT_EQ(Ask("DELETE", "/v1/openapi.json").status, 405);
}

TEST_F(GatewayTest, LargeAnswersAreCompressedForWhoTakesThem) {
  for (int i = 0; i < 20; ++i) MustSubmit("job-" + std::to_string(i));
  const HttpReply packed = Ask("GET", "/v1/jobs", TokenOf("kim"), "", {{"Accept-Encoding", "br, gzip"}});
  const HttpReply plain = Ask("GET", "/v1/jobs", TokenOf("kim"));
  EXPECT_EQ(packed.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(plain.headers.count("content-encoding"), 0U);
  EXPECT_LT(packed.body.size() * 4, plain.body.size());
  EXPECT_NE(packed.headers.at("etag"), plain.headers.at("etag"));
  EXPECT_EQ(Ask("GET", "/v1/jobs", TokenOf("kim"), "", {{"If-None-Match", packed.headers.at("etag")}}).status, 304);
}

TEST_F(GatewayTest, EventsAreOneDocumentALine) {
  const std::uint64_t id = MustSubmit("sft");
  const HttpReply reply = Ask("GET", "/v1/jobs/" + std::to_string(id) + "/events", TokenOf("kim"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.headers.at("content-type"), "application/x-ndjson");
  std::istringstream lines(reply.body);
  std::string line;
  std::vector<std::string> kinds;
  while (std::getline(lines, line)) kinds.push_back(proto::Json::parse(line)["kind"]);
  EXPECT_THAT(kinds, Contains("job_submitted"));
  EXPECT_EQ(Ask("GET", "/v1/jobs/" + std::to_string(id) + "/events", TokenOf("lee")).status, 403);
}

TEST_F(GatewayTest, AFollowedStreamGoesOnAndEndsWithTheServer) {
  HttpClient client = Connect();
  client.Send(RequestText("GET", "/v1/events?follow=true", {{"Authorization", "Bearer " + TokenOf("ora")}}));
  std::string heard = client.ReadSome();
  EXPECT_THAT(heard, HasSubstr("200 OK"));
  const std::uint64_t id = MustSubmit("later");
  while (heard.find("job_submitted") == std::string::npos) {
    const std::string more = client.ReadSome();
    ASSERT_FALSE(more.empty());
    heard += more;
  }
  EXPECT_THAT(heard, HasSubstr("\"job_id\":" + std::to_string(id)));
  server_->Stop();
  while (!client.ReadSome().empty()) {
  }
}

TEST_F(GatewayTest, TheAuditTrailHasTheClientsAddressAndNobodyForgesOne) {
  const std::uint64_t id = MustSubmit("sft");
  ASSERT_EQ(Ask("POST", "/v1/jobs/" + std::to_string(id) + "/cancel", TokenOf("kim")).status, 200);
  // By gRPC, with what the gateway would write: the key is wrong, and the call comes by a port anyway.
  grpc::ClientContext context;
  SetToken(&context, TokenOf("lee"));
  context.AddMetadata("glim-forwarded-peer", std::string(64, 'a') + " ipv4:6.6.6.6");
  v1::CancelRequest cancel;
  cancel.set_job_id(id);
  v1::CancelResponse response;
  EXPECT_FALSE(client_->Cancel(&context, cancel, &response).ok());
  // By HTTP, the header of that name.
  Ask("POST", "/v1/jobs/" + std::to_string(id) + "/cancel", TokenOf("lee"), "",
      {{"glim-forwarded-peer", "x ipv4:6.6.6.6"}, {"X-Forwarded-For", "6.6.6.6"}, {"Forwarded", "for=6.6.6.6"}});
  std::set<std::string> peers;
  ASSERT_TRUE(Eventually([&] {
    peers.clear();
    int cancels = 0;
    const auto trail = Audit();
    for (const auto& row : trail.entries()) {
      peers.insert(row.peer());
      cancels += row.method() == "/glim.v1.ClientApi/Cancel" ? 1 : 0;
    }
    return cancels == 3;
  }));
  for (const std::string& peer : peers) EXPECT_TRUE(peer.empty() || peer == "ipv4:127.0.0.1") << peer;
}

TEST_F(GatewayTest, EachAnswerTellsBrowsersToBeCareful) {
  for (const char* target : {"/", "/v1/whoami", "/nothing"}) {
    const HttpReply reply = Ask("GET", target);
    SCOPED_TRACE(target);
    EXPECT_THAT(reply.headers.at("content-security-policy"), HasSubstr("default-src 'none'"));
    EXPECT_THAT(reply.headers.at("content-security-policy"), HasSubstr("frame-ancestors 'none'"));
    EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.headers.at("referrer-policy"), "no-referrer");
    EXPECT_EQ(reply.headers.at("cache-control"), "no-store");
    EXPECT_THAT(reply.headers.at("strict-transport-security"), HasSubstr("max-age="));
    EXPECT_EQ(reply.headers.count("access-control-allow-origin"), 0U);
  }
}

TEST_F(GatewayTest, PlaintextIsRefusedByTheTlsPort) {
  HttpClient plain(server_->http_port(), "");
  plain.Send(RequestText("GET", "/v1/version"));
  EXPECT_EQ(plain.ReadReply().status, 0);
}

// Who holds a connection goes on with it; who comes is shown the new certificate.
TEST_F(GatewayTest, AChangedCertificateIsShownWithoutARestart) {
  const std::string before = Authorities();
  HttpClient old(server_->http_port(), before);
  const TestHeaders token = {{"Authorization", "Bearer " + TokenOf("ora")}};
  ASSERT_EQ(old.Ask("GET", "/v1/whoami", token).status, 200);
  ASSERT_EQ(Ask("POST", "/v1/ca/rotate", admin_token_, "{}").status, 200);
  ASSERT_EQ(Ask("POST", "/v1/ca/rotate", admin_token_, "{\"finish\":true}").status, 200);
  ASSERT_EQ(Authorities().find(before), std::string::npos) << "clients that trust the new one alone";
  EXPECT_EQ(Connect().Ask("GET", "/v1/whoami", token).status, 200);
  EXPECT_FALSE(HttpClient(server_->http_port(), before).connected()) << "the old certificate is not shown any more";
  EXPECT_EQ(old.Ask("GET", "/v1/whoami", token).status, 200);
  const auto stream = old.Ask("GET", "/v1/version", token);
  EXPECT_EQ(stream.status, 200) << "also for a second request";
}

// Behind a proxy of the same machine: no TLS there, and tokens all the same.
class PlaintextGatewayTest : public GatewayTest {
 protected:
  void Configure() override {
    GatewayTest::Configure();
    config_.http_plaintext = true;
  }
};

TEST_F(PlaintextGatewayTest, OnLoopbackATokenIsStillAskedFor) {
  const auto ask = [&](const std::string& verb, const std::string& target, const TestHeaders& headers,
                       const std::string& body = "") {
    return HttpClient(server_->http_port(), "").Ask(verb, target, headers, body);
  };
  const std::string bearer = "Bearer " + TokenOf("kim");
  EXPECT_EQ(ask("GET", "/v1/whoami", {}).status, 401);
  EXPECT_EQ(ask("GET", "/v1/whoami", {{"Glim-User", "ada"}}).status, 401) << "a name is no proof";
  EXPECT_EQ(ask("GET", "/v1/whoami", {{"Authorization", bearer}}).Json()["user"], "kim");
  EXPECT_FALSE(HttpClient(server_->http_port(), Authorities()).connected()) << "no TLS there";
  const HttpReply code = ask("POST", "/v1/session/code", {{"Authorization", bearer}});
  EXPECT_THAT(code.Json()["url"].get<std::string>(), ::testing::StartsWith("http://127.0.0.1:"));
  const HttpReply session = ask("POST", "/v1/session", {{"Content-Type", "application/json"}},
                                "{\"code\":" + code.Json()["code"].dump() + "}");
  ASSERT_EQ(session.status, 200) << session.body;
  EXPECT_THAT(session.headers.at("set-cookie"), ::testing::Not(HasSubstr("Secure"))) << "the browser would not send it";
  EXPECT_EQ(session.headers.count("strict-transport-security"), 0U);
}

TEST_F(PlaintextGatewayTest, BeyondLoopbackItDoesNotStart) {
  server::Config open = config_;
  open.listen_http = "0.0.0.0:0";
  open.store = "sqlite:" + (folder_ / "other.db").string();
  const auto started = server::Server::Start(open, [](const Status&) {});
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.status().field(), "http_plaintext");
}

// No route is missing, and none leads nowhere.
TEST(Routes, EachMethodOfUsersHasOne) {
  std::set<std::string> routed;
  for (const Route& route : Routes()) {
    ASSERT_NE(server::FindPermission("/glim.v1." + route.method), nullptr) << route.method;
    ASSERT_TRUE(route.pattern.starts_with("/v1/")) << route.method << " has a verb without a path";
    routed.insert(route.method);
    for (std::size_t at = route.pattern.find('{'); at != std::string::npos; at = route.pattern.find('{', at + 1)) {
      std::string name(route.pattern.substr(at + 1, route.pattern.find('}', at) - at - 1));
      const auto* type = route.rpc->input_type();
      if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
        ASSERT_NE(type->FindFieldByName(name.substr(0, dot)), nullptr) << route.pattern;
        type = type->FindFieldByName(name.substr(0, dot))->message_type();
        name = name.substr(dot + 1);
      }
      EXPECT_NE(type->FindFieldByName(name), nullptr) << route.pattern << " of " << route.method;
    }
  }
  for (const auto& row : server::Permissions()) {
    if (row.callers != server::Callers::kUsers) continue;
    EXPECT_TRUE(routed.contains(row.method.substr(sizeof("/glim.v1.") - 1))) << row.method;
  }
}

}  // namespace
}  // namespace glim::gateway
