#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/text/render_json.h"
#include "cli/text/time_text.h"
#include "cli/text/words.h"
#include "cli/views/outlook_text.h"
#include "cli/views/receipt.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

constexpr TimePoint kNow{1'763'640'547'125};

glim::v1::Attempt MakeAttempt(std::uint32_t number, const char* state) {
  glim::v1::Attempt attempt;
  attempt.mutable_ref()->set_job_id(7);
  attempt.mutable_ref()->set_number(number);
  attempt.set_state(state);
  attempt.set_base_step(-1);
  attempt.set_last_step(-1);
  attempt.add_zones("A");
  for (auto set : {&glim::v1::StartTimes::set_queued_ms, &glim::v1::StartTimes::set_notify_ms,
                   &glim::v1::StartTimes::set_agree_ms, &glim::v1::StartTimes::set_save_ms,
                   &glim::v1::StartTimes::set_release_ms, &glim::v1::StartTimes::set_start_ms}) {
    (attempt.mutable_start()->*set)(-1);
  }
  return attempt;
}

void AddTask(glim::v1::Attempt* attempt, const char* node, const char* phase, std::int64_t step) {
  auto* task = attempt->add_tasks();
  task->set_index(static_cast<std::uint32_t>(attempt->tasks_size() - 1));
  task->set_node(node);
  task->set_zone("A");
  task->set_phase(phase);
  task->set_step(step);
  task->set_simulated_gpus(true);
}

// Job 7 ran, was interrupted for job 12, saved, waited and runs again.
glim::v1::Job InterruptedJob() {
  glim::v1::Job job;
  job.set_id(7);
  job.set_user("kim");
  job.set_team("nlp");
  job.set_state("running");
  job.set_priority("normal");
  job.set_interrupts(1);
  job.set_durable_step(500);
  job.set_durable_path("/ckpt/7/attempt-1/step-500");
  job.set_submitted_at_ms((kNow - Minutes(90)).ms);
  job.mutable_spec()->set_name("llama-sft");
  job.mutable_spec()->set_pool("a100");
  job.mutable_spec()->set_nodes(1);
  job.mutable_spec()->set_gpus_per_node(8);
  job.mutable_spec()->set_run("torchrun train.py");

  glim::v1::Attempt first = MakeAttempt(1, "ended");
  first.set_outcome("interrupted");
  first.set_save("saved");
  first.set_last_step(500);
  first.set_running_at_ms((kNow - Minutes(80)).ms);
  first.set_ended_at_ms((kNow - Minutes(20)).ms);
  first.mutable_start()->set_queued_ms(200);
  first.mutable_start()->set_start_ms(1500);
  AddTask(&first, "n1", "released", 500);
  auto* agreement = first.add_agreements();
  agreement->set_id(1);
  agreement->set_state("ended");
  agreement->set_reason("a job of higher priority needs 1 node");
  agreement->mutable_preemptor()->set_job_id(12);
  agreement->mutable_preemptor()->set_number(1);
  agreement->set_preemptor_name("b-high");
  agreement->set_preemptor_user("lee");
  agreement->set_grace_ms(60'000);
  agreement->set_grace_used_ms(2300);
  agreement->set_stop_step(500);
  *job.add_attempts() = first;

  glim::v1::Attempt second = MakeAttempt(2, "running");
  second.set_base_step(500);
  second.set_last_step(742);
  second.set_running_at_ms((kNow - Minutes(10)).ms);
  AddTask(&second, "n2", "running", 742);
  *job.add_attempts() = second;
  return job;
}

JobsById Preemptors() {
  glim::v1::Job preemptor;
  preemptor.set_id(12);
  glim::v1::Attempt attempt = MakeAttempt(1, "running");
  attempt.mutable_start()->set_queued_ms(40);
  attempt.mutable_start()->set_notify_ms(110);
  attempt.mutable_start()->set_agree_ms(20);
  attempt.mutable_start()->set_save_ms(1900);
  attempt.mutable_start()->set_release_ms(270);
  attempt.mutable_start()->set_start_ms(1100);
  *preemptor.add_attempts() = attempt;
  return {{12, preemptor}};
}

TEST(StatusView, TellsTheWholeStory) {
  glim::v1::Job job = InterruptedJob();
  job.set_asked_by("the SDK or glim-task, which has said hello; grace 1m");
  job.set_protection("its class leaves an attempt alone for 30m");
  EXPECT_EQ(StatusText(job, MakeReceipts(job, Preemptors()), kNow, false),
            R"(job 7 llama-sft
state       running
user        kim (team nlp)
pool        a100, priority normal
nodes       1 x 8 GPUs = 8 (simulated)
submitted   1 h ago
interrupts  1, 0 steps lost in all
asked by    the SDK or glim-task, which has said hello; grace 1m
            its class leaves an attempt alone for 30m
checkpoint  step 500 in /ckpt/7/attempt-1/step-500
run         torchrun train.py

attempt 1: interrupted, saved, zone A, steps 0-500, ran 1 h, ended 20 min ago
  waited: queued 200 ms, start 1.5 s
  RANK  NODE  ZONE           GPUS  PHASE     STEP  EXIT  NOTE
     0  n1    A     8 (simulated)  released   500     0
  interrupt 1: for job 12 b-high (user lee): a job of higher priority needs 1 node
    2.3 s of 1 min grace used, stopped after step 500, saved, 0 steps lost
    its preemptor waited: queued 40 ms, notify 110 ms, agree 20 ms, save 1.9 s, release 270 ms, start 1.1 s

attempt 2: running, zone A, steps 501-742, began 10 min ago
  RANK  NODE  ZONE           GPUS  PHASE    STEP  EXIT  NOTE
     0  n2    A     8 (simulated)  running   742     -
)");
}

// Nobody knows what it lost: a 0 would say that it lost nothing.
TEST(StatusView, TellsThatAJobReportsNoSteps) {
  glim::v1::Job job = InterruptedJob();
  job.mutable_attempts()->DeleteSubrange(1, 1);
  glim::v1::Attempt* attempt = job.mutable_attempts(0);
  for (auto set :
       {&glim::v1::Attempt::set_base_step, &glim::v1::Attempt::set_last_step, &glim::v1::Attempt::set_durable_step}) {
    (attempt->*set)(-1);
  }
  attempt->set_save("left_unsaved");
  attempt->mutable_agreements(0)->set_stop_step(-1);
  const std::string text = StatusText(job, MakeReceipts(job, Preemptors()), kNow, false);
  EXPECT_THAT(text, ::testing::HasSubstr("interrupts  1; it reported no steps\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("2.3 s of 1 min grace used, left, and reported neither steps nor a save\n"));
}

TEST(StatusView, AReceiptWithoutItsPreemptorShowsItsOwnPhases) {
  glim::v1::Job job = InterruptedJob();
  auto* times = job.mutable_attempts(0)->mutable_agreements(0)->mutable_times();
  times->set_notify_ms(100);
  times->set_agree_ms(-1);
  times->set_save_ms(900);
  times->set_leave_ms(-1);
  times->set_release_ms(50);
  const std::string text = ReceiptText(MakeReceipts(job, {}).at(0));
  EXPECT_NE(text.find("it took: notify 100 ms, save 900 ms, release 50 ms\n"), std::string::npos) << text;
}

TEST(QueueView, Golden) {
  glim::v1::Job waiting = InterruptedJob();
  waiting.set_id(8);
  waiting.set_state("queued");
  waiting.mutable_spec()->set_name("\xe8\xae\xad\xe7\xbb\x83");
  waiting.mutable_attempts()->RemoveLast();
  waiting.add_blockers()->set_message("3 of 4 nodes are free");
  glim::v1::Job evil = InterruptedJob();
  evil.set_id(9);
  evil.set_user("\x1b[2J");
  evil.clear_attempts();
  evil.set_durable_step(-1);
  EXPECT_EQ(QueueTable({InterruptedJob(), waiting, evil}, kNow, false),
            "JOB  NAME       USER     POOL  PRIORITY  STATE    NODES           GPUS  STEP  SUBMITTED  NOTE\n"
            "  7  llama-sft  kim      a100  normal    running      1  8 (simulated)   742  1 h ago\n"
            "  8  \xe8\xae\xad\xe7\xbb\x83       kim      a100  normal    queued       1  8 (simulated)   500  1 h ago"
            "    interrupted, goes on after step 500; 3 of 4 nodes are free\n"
            "  9  llama-sft  \\x1b[2J  a100  normal    running      1              8     -  1 h ago\n");
}

TEST(StatusView, SaysThatOlderAttemptsAreLeftOutAndWhereTheyAre) {
  glim::v1::Job job = InterruptedJob();
  EXPECT_EQ(AttemptsLeftOut(job), 0u);
  job.mutable_attempts()->DeleteSubrange(0, 1);
  EXPECT_EQ(AttemptsLeftOut(job), 1u);
  EXPECT_NE(StatusText(job, {}, kNow, false).find("\nattempt 1 is left out here: glim events 7 tells of all attempts"),
            std::string::npos);
  job.mutable_attempts(0)->mutable_ref()->set_number(93);
  EXPECT_NE(StatusText(job, {}, kNow, false).find("\nattempts 1 to 92 are left out here: "), std::string::npos);
}

// Whoever relies on a node's release is told where the kernel does not vouch for it.
TEST(StatusView, SaysUntilWhenAnEndedJobsSavesStay) {
  glim::v1::Job job = InterruptedJob();
  EXPECT_EQ(StatusText(job, {}, kNow, false).find("saves are kept"), std::string::npos);
  job.set_saves_kept_until_ms((kNow + Hours(24)).ms);
  EXPECT_NE(StatusText(job, {}, kNow, false).find("saves are kept until " + FormatRfc3339(kNow + Hours(24)) + ", then"),
            std::string::npos);
  job.set_saves_kept_until_ms((kNow - Hours(24)).ms);
  EXPECT_NE(StatusText(job, {}, kNow, false)
                .find("saves were kept until " + FormatRfc3339(kNow - Hours(24)) +
                      ": being removed, or gone (glim events 7 tells when)"),
            std::string::npos);
}

TEST(NodesView, ABestEffortCensusIsSaid) {
  glim::v1::Node node;
  node.set_name("n1");
  node.set_state("ready");
  node.set_census("groups");
  EXPECT_EQ(NodesTable({node}, kNow, false).find("census"), std::string::npos);
  EXPECT_NE(NodeText(node, kNow, false).find("census      exact: "), std::string::npos);
  node.set_census("best_effort");
  EXPECT_NE(NodesTable({node}, kNow, false).find("  census is best effort\n"), std::string::npos);
  EXPECT_NE(NodeText(node, kNow, false).find("census      best effort: "), std::string::npos);
}

// A node that looks free and is given to nobody.
TEST(NodesView, ASuspectSaysUntilWhenAndWhy) {
  glim::v1::Node node;
  node.set_name("n1");
  node.set_state("ready");
  node.set_suspect_until_ms((kNow + Minutes(30)).ms);
  node.set_suspect_why("its last start (7.1) failed: runc was killed");
  const std::string note = "suspect until " + FormatRfc3339(kNow + Minutes(30)) +
                           ", used only where nothing else fits: its last start (7.1) failed: runc was killed";
  EXPECT_NE(NodeText(node, kNow, false).find("note        " + note + "\n"), std::string::npos);
  EXPECT_NE(NodesTable({node}, kNow, false).find("  suspect until "), std::string::npos);
  EXPECT_EQ(NodesTable({node}, kNow + Minutes(30), false).find("suspect"), std::string::npos) << "it is over";
}

TEST(StatusView, AnExitThatNobodyKnowsIsNoZero) {
  glim::v1::Job job = InterruptedJob();
  job.mutable_attempts(0)->mutable_tasks(0)->set_exit_code(-1);
  EXPECT_NE(StatusText(job, {}, kNow, false).find("released   500     -\n"), std::string::npos)
      << StatusText(job, {}, kNow, false);
}

TEST(WhyView, Golden) {
  glim::v1::Job job = InterruptedJob();
  job.set_state("queued");
  auto* busy = job.add_blockers();
  busy->set_kind("nodes_busy");
  busy->set_message("3 of 4 nodes are free");
  busy->set_have(3);
  busy->set_need(4);
  busy->add_job_ids(12);
  auto* backoff = job.add_blockers();
  backoff->set_kind("backoff");
  backoff->set_message("restarts in 20 s");
  glim::v1::ExplainJobResponse why;
  *why.mutable_job() = job;
  EXPECT_EQ(WhyText(why, kNow, false),
            "job 7 llama-sft is queued\n"
            "REASON      HAVE  NEED  HELD BY  WHY\n"
            "nodes_busy     3     4  12       3 of 4 nodes are free\n"
            "backoff        -     -  -        restarts in 20 s\n");
}

glim::v1::Outlook MakeOutlook() {
  glim::v1::Outlook outlook;
  outlook.set_ahead_count(7);
  for (const std::uint64_t id : {3, 5, 6, 8, 9, 11}) outlook.add_ahead_job_ids(id);
  outlook.set_promised_by_at_ms(kNow.ms + 25 * 3'600'000);
  outlook.mutable_estimate()->set_earliest_at_ms(kNow.ms + 600'000);
  outlook.mutable_estimate()->set_latest_at_ms(kNow.ms + 2 * 3'600'000);
  return outlook;
}

TEST(WhyView, SaysWhatIsBeforeItWhenItMayStartAndWhatWasTried) {
  glim::v1::ExplainJobResponse why;
  why.mutable_job()->set_id(7);
  why.mutable_job()->mutable_spec()->set_name("sft\x1b[31m");
  why.mutable_job()->set_state("queued");
  *why.mutable_outlook() = MakeOutlook();
  why.add_counterfactuals()->set_message("with 7 nodes it starts now");
  why.add_counterfactuals()->set_message("in zone B\x1b it starts now");
  EXPECT_EQ(WhyText(why, kNow, false),
            "job 7 sft\\x1b[31m is queued\n"
            "\n"
            "before it    7 queued jobs: 3, 5, 6, 8, 9, ...\n"
            "start        between in 10 min and in 2 h\n"
            "promised     in 1 d 1 h at the latest, unless higher classes take everything\n"
            "tried        with 7 nodes it starts now\n"
            "             in zone B\\x1b it starts now\n");
  why.clear_counterfactuals();
  EXPECT_NE(WhyText(why, kNow, false).find("it would not start now with any of them"), std::string::npos);
}

// A range or nothing: never one moment that looks certain.
TEST(WhyView, AnEstimateIsARangeOrUnknown) {
  const auto line = [](std::int64_t earliest_s, std::int64_t latest_s, const std::string& unknown) {
    glim::v1::Outlook outlook;
    if (earliest_s >= 0) outlook.mutable_estimate()->set_earliest_at_ms(kNow.ms + earliest_s * 1000);
    if (latest_s >= 0) outlook.mutable_estimate()->set_latest_at_ms(kNow.ms + latest_s * 1000);
    outlook.mutable_estimate()->set_unknown(unknown);
    const std::string lines = OutlookLines(outlook, kNow, 0);
    const std::size_t begin = lines.find("start        ") + 13;
    return lines.substr(begin, lines.find('\n', begin) - begin);
  };
  EXPECT_EQ(line(0, 60, ""), "between now and in 1 min");
  EXPECT_EQ(line(-1, -1, "too few jobs have ended"), "unknown: too few jobs have ended");
  EXPECT_EQ(line(60, -1, "beyond its quota"), "not before in 1 min; how late is unknown: beyond its quota");
}

TEST(PlanView, Golden) {
  glim::v1::PlanJobResponse plan;
  auto* starts = plan.add_jobs();
  starts->set_name("sft");
  starts->mutable_start()->set_message("starts now by interrupting job 12 (preemption cost 0.4 GPU-hours)");
  starts->mutable_start()->set_priority("high");
  for (const char* name : {"n1", "n2"}) {
    auto* node = starts->mutable_start()->add_nodes();
    node->set_name(name);
    node->set_zone("A");
  }
  auto* victim = starts->mutable_start()->add_victims();
  victim->set_job_id(12);
  victim->set_name("digits");
  victim->set_user("ana");
  victim->set_priority("normal");
  victim->set_preemption_cost_gpu_ms(1'440'000);
  victim->set_since_save_ms(90'000);
  victim->set_steps_since_save(15);
  auto* waits = plan.add_jobs();
  waits->set_name("big");
  waits->add_blockers()->set_kind("nodes_busy");
  waits->mutable_blockers(0)->set_message("1 node free, 2 needed");
  *waits->mutable_outlook() = MakeOutlook();
  EXPECT_EQ(PlanText(plan, kNow, false),
            "sft starts now by interrupting job 12 (preemption cost 0.4 GPU-hours)\n"
            "  nodes        n1, n2 in zone A\n"
            "  charged to   high\n"
            "  INTERRUPTS  NAME    USER  PRIORITY           COST  SINCE ITS SAVE  STEPS\n"
            "          12  digits  ana   normal    0.4 GPU-hours      1 min 30 s     15\n"
            "big would wait\n"
            "  REASON      HAVE  NEED  HELD BY  WHY\n"
            "  nodes_busy     -     -  -        1 node free, 2 needed\n"
            "  before it    7 queued jobs: 3, 5, 6, 8, 9, ...\n"
            "  start        between in 10 min and in 2 h\n"
            "  promised     in 1 d 1 h at the latest, unless higher classes take everything\n");
}

// Red is for failures alone, and words say the same as colours.
TEST(Words, AnInterruptedJobNeverLooksFailed) {
  const glim::v1::Job job = InterruptedJob();
  EXPECT_EQ(AttemptStyle(job.attempts(0)), Style::kWarn);
  for (const std::string state : {"queued", "starting", "running", "interrupting", "suspending", "held", "cancelled"}) {
    EXPECT_NE(StateStyle(state), Style::kBad) << state;
  }
  EXPECT_EQ(StateStyle("failed"), Style::kBad);
  for (const std::string save : {"saved", "left_unsaved", "killed"}) {
    glim::v1::Attempt attempt = job.attempts(0);
    attempt.set_save(save);
    EXPECT_EQ(AttemptVerdict(attempt).find("interrupted, "), 0u);
    EXPECT_EQ(AttemptVerdict(attempt).find("failed"), std::string::npos);
  }
}

TEST(Words, ColourOnlyWhenAsked) {
  const glim::v1::Job job = InterruptedJob();
  EXPECT_EQ(StatusText(job, {}, kNow, false).find('\x1b'), std::string::npos);
  EXPECT_NE(StatusText(job, {}, kNow, true).find("\x1b[32mrunning\x1b[0m"), std::string::npos);
}

TEST(JsonView, NumbersAreNumbersAndTimesHaveTwins) {
  const Json job = JobJson(InterruptedJob());
  EXPECT_EQ(job["id"], 7);
  EXPECT_EQ(job["gpus"], 8);
  EXPECT_EQ(job["gpus_simulated"], true);
  EXPECT_EQ(job["submitted_at_ms"], (kNow - Minutes(90)).ms);
  EXPECT_EQ(job["submitted_at"], "2025-11-20T10:39:07.125Z");
  EXPECT_EQ(job["ended_at_ms"], 0);
  EXPECT_TRUE(job["ended_at"].is_null());
  EXPECT_EQ(job["spec"]["launcher"], "node");
  EXPECT_TRUE(job["spec"]["placement"].is_null());
  EXPECT_EQ(job["attempts"][0]["agreements"][0]["stop_step"], 500);
  EXPECT_EQ(job["blockers"], Json::array());
}

}  // namespace
}  // namespace glim::cli
