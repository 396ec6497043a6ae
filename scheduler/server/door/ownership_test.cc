// Whose job it is: two users, an admin of their team, an operator and a job's own token, at every call about a job.
#include <functional>

#include "glim/v1/log_api.grpc.pb.h"
#include "scheduler/server/testing/token_server.h"

namespace glim::server {
namespace {

using ClientStub = v1::ClientApi::Stub;

class OwnershipTest : public TokenServerTest {
 protected:
  v1::JobSpec Secretive(const std::string& name) {
    v1::JobSpec spec = Spec(name);
    v1::EnvVar* const env = spec.add_env();
    env->set_name("API_KEY");
    env->set_value("sesame");
    spec.set_run("python train.py --password sesame");
    return spec;
  }

  // The reason of the refusal; empty: it came in.
  template <typename Request, typename Response>
  std::string Refusal(grpc::Status (ClientStub::*method)(grpc::ClientContext*, const Request&, Response*),
                      const std::string& token, std::uint64_t job, Response* response) {
    Request request;
    request.set_job_id(job);
    const grpc::Status status = Ask(client_.get(), method, token, request, response);
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ? DetailOf(status).reason() : "";
  }

  template <typename Response, typename Request>
  grpc::Status Drain(std::unique_ptr<grpc::ClientReader<Response>> (ClientStub::*method)(grpc::ClientContext*,
                                                                                         const Request&),
                     const std::string& token, const Request& request, std::vector<Response>* all) {
    grpc::ClientContext context;
    SetToken(&context, token);
    const auto stream = (client_.get()->*method)(&context, request);
    for (Response one; stream->Read(&one);) all->push_back(one);
    return stream->Finish();
  }

  std::string LogRefusal(const std::string& token, std::uint64_t job) {
    v1::StreamLogRequest request;
    request.set_job_id(job);
    std::vector<v1::StreamLogResponse> all;
    const grpc::Status status = Drain(&ClientStub::StreamLog, token, request, &all);
    v1::SearchLogRequest search;
    search.set_job_id(job);
    search.set_word("sesame");
    v1::SearchLogResponse found;
    const auto logs = v1::LogApi::NewStub(channel_);
    const grpc::Status searched = Ask(logs.get(), &v1::LogApi::Stub::SearchLog, token, search, &found);
    EXPECT_EQ(DetailOf(searched).reason() == "NOT_YOURS", DetailOf(status).reason() == "NOT_YOURS")
        << "who may read a log may search it, and nobody else";
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ? DetailOf(status).reason() : "";
  }

  // The jobs of which the caller is shown events; or the refusal.
  std::set<std::uint64_t> EventsOf(const std::string& token, std::uint64_t job, std::string* refusal) {
    v1::StreamEventsRequest request;
    request.set_job_id(job);
    std::vector<v1::StreamEventsResponse> all;
    const grpc::Status status = Drain(&ClientStub::StreamEvents, token, request, &all);
    *refusal = status.ok() ? "" : DetailOf(status).reason();
    std::set<std::uint64_t> jobs;
    for (const auto& page : all) {
      for (const v1::Event& event : page.events()) jobs.insert(event.job_id());
    }
    jobs.erase(0);
    return jobs;
  }

  bool SeesAll(const std::string& token, std::uint64_t job) {
    v1::GetJobResponse one;
    EXPECT_EQ(Refusal(&ClientStub::GetJob, token, job, &one), "");
    v1::ExplainJobResponse explained;
    EXPECT_EQ(Refusal(&ClientStub::ExplainJob, token, job, &explained), "");
    v1::ListJobsResponse list;
    EXPECT_TRUE(Ask(client_.get(), &ClientStub::ListJobs, token, v1::ListJobsRequest(), &list).ok());
    std::string listed;
    for (const v1::Job& each : list.jobs()) {
      if (each.id() == job) listed = each.spec().run();
    }
    EXPECT_EQ(one.job().spec().name(), "secretive");
    const bool sees = !one.job().spec().run().empty();
    EXPECT_EQ(one.job().spec().env_size() > 0, sees);
    EXPECT_EQ(!explained.job().spec().run().empty(), sees);
    EXPECT_EQ(!listed.empty(), sees);
    const std::string text = one.ShortDebugString() + explained.ShortDebugString();
    EXPECT_EQ(text.find("sesame") != std::string::npos, sees);
    return sees;
  }
};

TEST_F(OwnershipTest, WhoSeesWhatIsPrivateOfAJob) {
  const std::uint64_t job = SubmitBy(TokenOf("kim"), Secretive("secretive"));
  const std::pair<const char*, bool> cases[] = {{"kim", true},  {"lee", false}, {"vera", false},
                                                {"tess", true}, {"ora", true},  {"ada", true}};
  for (const auto& [user, sees] : cases) {
    EXPECT_EQ(SeesAll(TokenOf(user), job), sees) << user;
    EXPECT_EQ(LogRefusal(TokenOf(user), job), sees ? "" : "NOT_YOURS") << user;
    std::string refusal;
    EXPECT_EQ(EventsOf(TokenOf(user), job, &refusal).contains(job), sees) << user;
    EXPECT_EQ(refusal, sees ? "" : "NOT_YOURS") << user;
    EXPECT_EQ(EventsOf(TokenOf(user), 0, &refusal).contains(job), sees) << user << ": among all events";
    EXPECT_EQ(refusal, "");
  }
}

// Its row is gone, and the first of its events says whose it was.
TEST_F(OwnershipTest, WhoSeesEventsOfAForgottenJob) {
  config_.policy.finished_jobs_kept = 1;
  RestartServer();
  std::uint64_t job = 0;
  for (const char* user : {"kim", "lee", "lee"}) {  // the others' jobs are kept instead
    const std::uint64_t ended = SubmitBy(TokenOf(user), Spec(user));
    if (job == 0) job = ended;
    v1::CancelResponse cancelled;
    ASSERT_EQ(Refusal(&ClientStub::Cancel, TokenOf(user), ended, &cancelled), "");
  }
  ASSERT_EQ(server_->snapshot()->tables.jobs.Find(core::JobId(job)), nullptr);
  const std::pair<const char*, bool> cases[] = {{"kim", true},  {"lee", false}, {"vera", false},
                                                {"tess", true}, {"ora", true},  {"ada", true}};
  for (const auto& [user, sees] : cases) {
    std::string refusal;
    EXPECT_EQ(EventsOf(TokenOf(user), job, &refusal).contains(job), sees) << user;
    EXPECT_EQ(refusal, sees ? "" : "NOT_YOURS") << user;
    EXPECT_EQ(EventsOf(TokenOf(user), 0, &refusal).contains(job), sees) << user << ": among all events";
  }
}

TEST_F(OwnershipTest, WhoStopsAJob) {
  const std::pair<const char*, const char*> cases[] = {{"vera", "ROLE"}, {"lee", "NOT_YOURS"}, {"kim", ""},
                                                       {"tess", ""},     {"ora", ""},          {"ada", ""}};
  for (const auto& [user, refusal] : cases) {
    const std::uint64_t job = SubmitBy(TokenOf("kim"), Spec("mine"));
    v1::SuspendResponse suspended;
    EXPECT_EQ(Refusal(&ClientStub::Suspend, TokenOf(user), job, &suspended), refusal) << user;
    v1::ResumeResponse resumed;
    EXPECT_EQ(Refusal(&ClientStub::Resume, TokenOf(user), job, &resumed), refusal) << user;
    v1::CancelResponse cancelled;
    EXPECT_EQ(Refusal(&ClientStub::Cancel, TokenOf(user), job, &cancelled), refusal) << user;
    EXPECT_EQ(cancelled.state(), *refusal == '\0' ? "cancelled" : "") << user;
  }
}

TEST_F(OwnershipTest, ATeamAdminHasNoRightToOtherTeamsJobs) {
  const std::uint64_t job = SubmitBy(TokenOf("ada"), Spec("teamless"));
  v1::CancelResponse response;
  EXPECT_EQ(Refusal(&ClientStub::Cancel, TokenOf("tess"), job, &response), "NOT_YOURS");
  EXPECT_EQ(LogRefusal(TokenOf("tess"), job), "NOT_YOURS");
}

TEST_F(OwnershipTest, ASubmissionForAnothersTeamIsRefused) {
  v1::JobSpec spec = Spec("mine");
  spec.set_team("vision");
  v1::SubmitRequest request;
  *request.add_specs() = spec;
  v1::SubmitResponse response;
  EXPECT_FALSE(Ask(client_.get(), &ClientStub::Submit, TokenOf("ora"), request, &response).ok());
  EXPECT_TRUE(Ask(client_.get(), &ClientStub::Submit, TokenOf("lee"), request, &response).ok());
}

TEST_F(OwnershipTest, AJobsTokenWorksOnThatJobAndItsChildren) {
  const std::uint64_t job = SubmitBy(TokenOf("kim"), Secretive("parent"));
  const std::uint64_t other = SubmitBy(TokenOf("kim"), Secretive("other"));
  core::TokenRow row;
  row.user = "kim";
  row.scope = core::Scope::kSubmit;
  row.origin = core::TokenOrigin::kJob;
  row.attempt = {core::JobId(job), 1};
  const std::string token = PutToken(row);
  const std::uint64_t child = SubmitBy(token, Secretive("child"));
  v1::GetJobResponse got;
  EXPECT_EQ(Refusal(&ClientStub::GetJob, token, job, &got), "");
  EXPECT_FALSE(got.job().spec().run().empty());
  EXPECT_EQ(Refusal(&ClientStub::GetJob, token, child, &got), "");
  EXPECT_EQ(Refusal(&ClientStub::GetJob, token, other, &got), "NOT_YOURS") << "its owner's, but not its own";
  v1::ListJobsResponse list;
  EXPECT_TRUE(Ask(client_.get(), &ClientStub::ListJobs, token, v1::ListJobsRequest(), &list).ok());
  std::set<std::uint64_t> listed;
  for (const v1::Job& each : list.jobs()) listed.insert(each.id());
  EXPECT_EQ(listed, (std::set<std::uint64_t>{job, child}));
  std::string refusal;
  EventsOf(token, 0, &refusal);
  EXPECT_EQ(refusal, "INVALID_SPEC") << "it says which job";
  EventsOf(token, other, &refusal);
  EXPECT_EQ(refusal, "NOT_YOURS");
  EXPECT_EQ(EventsOf(token, child, &refusal), (std::set<std::uint64_t>{child}));
  EXPECT_EQ(LogRefusal(token, other), "NOT_YOURS");
  v1::CancelResponse cancelled;
  EXPECT_EQ(Refusal(&ClientStub::Cancel, token, other, &cancelled), "NOT_YOURS");
  EXPECT_EQ(Refusal(&ClientStub::Cancel, token, child, &cancelled), "");
  EXPECT_EQ(cancelled.state(), "cancelled");
}

TEST_F(OwnershipTest, OthersEndedJobsTellNoMessage) {
  const std::uint64_t job = SubmitBy(TokenOf("kim"), Spec("mine"));
  v1::CancelResponse cancelled;
  ASSERT_EQ(Refusal(&ClientStub::Cancel, TokenOf("kim"), job, &cancelled), "");
  for (const auto& [user, sees] : {std::pair("kim", true), std::pair("lee", false), std::pair("tess", true)}) {
    v1::ListHistoryResponse list;
    ASSERT_TRUE(Ask(client_.get(), &ClientStub::ListHistory, TokenOf(user), v1::ListHistoryRequest(), &list).ok());
    ASSERT_EQ(list.jobs_size(), 1) << user;
    EXPECT_EQ(list.jobs(0).state(), "cancelled");
    EXPECT_EQ(!list.jobs(0).message().empty(), sees) << user;
  }
}

}  // namespace
}  // namespace glim::server
