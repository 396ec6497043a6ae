#include "scheduler/jobfile/spec_reader.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/model/validate_spec.h"
#include "scheduler/wire/spec_convert.h"
#include "sdk/base/rng.h"
#include "sdk/base/testing/waits.h"
#include "sdk/base/utf8.h"

namespace glim::jobfile {
namespace {

using testing::HasSubstr;

const SpecSource kSource{"job.yaml", "/home/kim/sft"};

Result<std::vector<glim::v1::JobSpec>> Read(const std::string& text) { return ReadSpecs(text, kSource); }

glim::v1::JobSpec ReadOne(const std::string& text) {
  auto specs = Read(text);
  EXPECT_TRUE(specs.ok()) << specs.status().message();
  return specs.ok() ? specs->at(0) : glim::v1::JobSpec();
}

// A spec that is right but for one more line.
std::string SpecWithLine(const std::string& line) { return "name: a\nrun: x\n" + line + "\n"; }

TEST(SpecReader, SecretsAreNamesOrNamesWithAVariable) {
  const glim::v1::JobSpec spec = ReadOne(SpecWithLine("secrets: [wandb-key, {name: hf, env: HF_TOKEN}]\napi: true"));
  ASSERT_EQ(spec.secrets_size(), 2);
  EXPECT_EQ(spec.secrets(0).name(), "wandb-key");
  EXPECT_EQ(spec.secrets(0).env(), "");
  EXPECT_EQ(spec.secrets(1).name(), "hf");
  EXPECT_EQ(spec.secrets(1).env(), "HF_TOKEN");
  EXPECT_TRUE(spec.api());
  EXPECT_FALSE(ReadOne(SpecWithLine("")).api());
}

TEST(ReadSpecs, ANodeIsReadByItsName) {
  EXPECT_EQ(ReadOne(SpecWithLine("placement: {node: n7}")).placement().node(), "n7");
  EXPECT_EQ(ReadOne(SpecWithLine("placement: {leaf: any}")).placement().node(), "");
}

TEST(ReadSpecs, WhoIsToldIsRead) {
  const glim::v1::JobSpec spec = ReadOne(SpecWithLine("notify: {on: [interrupted, done], to: [team-chat]}"));
  EXPECT_EQ(spec.notify().on_size(), 2);
  EXPECT_EQ(spec.notify().on(1), "done");
  ASSERT_EQ(spec.notify().to_size(), 1);
  EXPECT_EQ(spec.notify().to(0), "team-chat");
  EXPECT_FALSE(ReadOne(SpecWithLine("api: true")).has_notify());
}

constexpr char kFull[] = R"(apiVersion: glim/v1
kind: Job
name: llama-sft
pool: a100
priority: 10
nodes: 16
gpus_per_node: 4
placement: {zones: [A, B], leaf: any, cross_zone: never, gpu_type: A100-80G, nvlink: pair, nic: roce}
image: host
workdir: ../data/./x/
run: |
  set -e
  torchrun train.py --config c.yaml
launcher: per-gpu
env: {OMP_NUM_THREADS: 8, DEBUG: true, EMPTY: '', TEXT: "a b"}
interrupt: {mode: signal, grace: 2m, max_grace: 1h, signal: USR1}
checkpoint: {dir: /ckpt/$GLIM_JOB_ID, every: 500s, keep: 7}
restart:
  on: [node_failure]
  max: 0
  backoff: 500ms
)";

TEST(SpecReader, ReadsEveryKey) {
  const glim::v1::JobSpec spec = ReadOne(kFull);
  EXPECT_EQ(spec.name(), "llama-sft");
  EXPECT_EQ(spec.pool(), "a100");
  EXPECT_EQ(spec.priority(), "10");
  EXPECT_EQ(spec.nodes(), 16u);
  EXPECT_EQ(spec.gpus_per_node(), 4u);
  EXPECT_THAT(spec.placement().zones(), testing::ElementsAre("A", "B"));
  EXPECT_EQ(spec.placement().leaf(), "any");
  EXPECT_EQ(spec.placement().cross_zone(), "never");
  EXPECT_EQ(spec.placement().gpu_type(), "A100-80G");
  EXPECT_EQ(spec.placement().nvlink(), "pair");
  EXPECT_EQ(spec.placement().nic(), "roce");
  EXPECT_EQ(spec.workdir(), "/home/kim/data/x");
  EXPECT_EQ(spec.run(), "set -e\ntorchrun train.py --config c.yaml\n");
  EXPECT_EQ(spec.launcher(), glim::v1::LAUNCHER_PER_GPU);
  ASSERT_EQ(spec.env_size(), 4);
  EXPECT_EQ(spec.env(0).name() + "=" + spec.env(0).value(), "OMP_NUM_THREADS=8");
  EXPECT_EQ(spec.env(1).value(), "true");
  EXPECT_EQ(spec.env(2).value(), "");
  EXPECT_EQ(spec.interrupt().mode(), "signal");
  EXPECT_EQ(spec.interrupt().grace_ms(), 120'000);
  EXPECT_EQ(spec.interrupt().max_grace_ms(), 3'600'000);
  EXPECT_EQ(spec.interrupt().signal(), "USR1");
  EXPECT_EQ(spec.checkpoint().dir(), "/ckpt/$GLIM_JOB_ID");
  EXPECT_EQ(spec.checkpoint().every_ms(), 500'000);
  EXPECT_EQ(spec.checkpoint().keep(), 7u);
  EXPECT_THAT(spec.restart().on(), testing::ElementsAre("node_failure"));
  EXPECT_EQ(spec.restart().max(), 0u);
  EXPECT_EQ(spec.restart().backoff_ms(), 500);
}

TEST(SpecReader, FillsInEveryDefault) {
  const glim::v1::JobSpec spec = ReadOne("name: a\nrun: x\n");
  EXPECT_EQ(spec.pool(), "") << "the server says: its team's, or default";
  EXPECT_EQ(spec.priority(), "normal");
  EXPECT_EQ(spec.nodes(), 1u);
  EXPECT_EQ(spec.gpus_per_node(), 8u);
  EXPECT_EQ(spec.placement().leaf(), "pack");
  EXPECT_EQ(spec.placement().cross_zone(), "auto");
  EXPECT_EQ(spec.placement().nvlink(), "");
  EXPECT_EQ(spec.image(), "host");
  EXPECT_EQ(spec.workdir(), "/home/kim/sft");
  EXPECT_EQ(spec.launcher(), glim::v1::LAUNCHER_NODE);
  EXPECT_EQ(spec.interrupt().mode(), "auto");
  EXPECT_EQ(spec.interrupt().grace_ms(), 60'000);
  EXPECT_EQ(spec.interrupt().max_grace_ms(), 300'000);
  EXPECT_EQ(spec.interrupt().signal(), "TERM");
  EXPECT_EQ(spec.checkpoint().dir(), "");
  EXPECT_EQ(spec.checkpoint().keep(), 3u);
  EXPECT_THAT(spec.restart().on(), testing::ElementsAre("node_failure", "xid", "network"));
  EXPECT_EQ(spec.restart().max(), 20u);
  EXPECT_EQ(spec.restart().backoff_ms(), 30'000);
}

TEST(SpecReader, ALongerGraceRaisesTheDefaultOfMaxGrace) {
  EXPECT_EQ(ReadOne("{name: a, run: x, interrupt: {grace: 10m}}").interrupt().max_grace_ms(), 600'000);
}

// 0 is what was said, not "nothing was said".
TEST(SpecReader, NoGraceAtAllReachesTheServerAsThat) {
  for (const char* text : {"{name: a, run: x, interrupt: {grace: 0s, max_grace: 0s}}",
                           "{name: a, run: x, interrupt: {grace: 0s, max_grace: 10s}}"}) {
    const auto converted = wire::SpecFromProto(ReadOne(text));
    ASSERT_TRUE(converted.ok());
    EXPECT_EQ(converted->grace, Duration{});
  }
  EXPECT_EQ(wire::SpecFromProto(ReadOne("{name: a, run: x, interrupt: {grace: 0s, max_grace: 0s}}"))->max_grace,
            Duration{});
}

TEST(SpecReader, WorkdirStartsAtTheFile) {
  EXPECT_EQ(ReadOne("{name: a, run: x, workdir: .}").workdir(), "/home/kim/sft");
  EXPECT_EQ(ReadOne("{name: a, run: x, workdir: src}").workdir(), "/home/kim/sft/src");
  EXPECT_EQ(ReadOne("{name: a, run: x, workdir: /data/}").workdir(), "/data");
  EXPECT_EQ(ReadOne("{name: a, run: x, workdir: /}").workdir(), "/");
}

TEST(SpecReader, SeveralDocumentsAreSeveralJobs) {
  const auto specs = Read("---\nname: a\nrun: x\n---\nname: b\nrun: y\n---\n");
  ASSERT_TRUE(specs.ok()) << specs.status().message();
  ASSERT_EQ(specs->size(), 2u);
  EXPECT_EQ(specs->at(1).name(), "b");
}

TEST(SpecReader, AnchorsShareValues) {
  const auto spec = ReadOne("name: &n a\nrun: x\nenv: {A: &v one, B: *v, C: *n}\n");
  EXPECT_EQ(spec.env(1).value(), "one");
  EXPECT_EQ(spec.env(2).value(), "a");
}

TEST(ReadSpecs, TimeLimitAndDependencies) {
  const auto specs = Read(SpecWithLine("limits: {time: 90m}\nafter: [812, 813:failed, 814:any, 815:ok:keep]"));
  ASSERT_TRUE(specs.ok()) << specs.status().message();
  const glim::v1::JobSpec& spec = specs->front();
  EXPECT_EQ(spec.time_limit_ms(), 5'400'000);
  EXPECT_FALSE(spec.has_limits());
  std::string after;
  for (const auto& d : spec.after()) after += std::to_string(d.job_id()) + d.when() + (d.keep() ? "!" : "") + " ";
  EXPECT_EQ(after, "812ok 813failed 814any 815ok! ");
  EXPECT_EQ(Read("name: a\nrun: x\n")->front().after_size(), 0);
}

TEST(ReadSpecs, AFirstMomentIsReadWithItsZone) {
  const auto specs = ReadSpecs("{name: a, run: x, start_after: 2027-01-31T18:00:00+08:00}", {"job.yaml", "/"});
  ASSERT_TRUE(specs.ok()) << specs.status().message();
  EXPECT_EQ(specs->at(0).start_after_ms(), 1'801'389'600'000);
}

TEST(ReadSpecs, AtMost64Dependencies) {
  const auto with = [](int jobs) {
    std::string list;
    for (int i = 1; i <= jobs; ++i) list += std::to_string(i) + ",";
    return Read(SpecWithLine("after: [" + list + "]"));
  };
  EXPECT_TRUE(with(64).ok());
  ASSERT_FALSE(with(65).ok());
  EXPECT_EQ(with(65).status().field(), "after");
}

TEST(SpecReaderBounds, AliasesThatWouldExpandToBillionsAreRefusedAtOnce) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + "," + last + "," + last + "]\n";
  }
  const auto specs = Read(text);
  ASSERT_FALSE(specs.ok());
  EXPECT_THAT(specs.status().message(), HasSubstr("nested deeper than 16"));
}

// Shapes that have made YAML parsers slow or exhausted their stack; none may take longer than a reader would wait.
TEST(SpecReaderBounds, HostileShapesEndQuickly) {
  std::vector<std::string> texts = {std::string(1 << 20, '['), std::string(1 << 20, '{'), std::string(1 << 20, '\n'),
                                    std::string(1 << 20, '-'), std::string(1 << 20, '#'), std::string(1 << 20, ':')};
  for (const std::string unit : {"- ", "? ", "a: ", "&a ", "{a: ", "[a, ", "!t ", "%x\n", "---\n", "\"", "'", "|\n "}) {
    std::string text;
    while (text.size() + unit.size() <= (1 << 20)) text += unit;
    texts.push_back(std::move(text));
  }
  for (const std::string& text : texts) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(Read(text).ok());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, Slower(std::chrono::seconds(20))) << text.substr(0, 8);
  }
}

// Any bytes give a spec or a reason, and a spec that was accepted holds to the limits.
TEST(SpecReaderBounds, MutatedSpecsAreReadOrRefused) {
  const std::string alphabet = ":-[]{}#&*!|>'\"%@`,? \n\taZ09~\\$/";
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed);
    std::string text = kFull;
    for (std::int64_t n = rng.Between(1, 4); n > 0; --n) {
      const auto at = static_cast<std::size_t>(rng.Between(0, static_cast<std::int64_t>(text.size()) - 1));
      const char c = rng.OneIn(8) ? static_cast<char>(rng.Between(0, 255))
                                  : alphabet[static_cast<std::size_t>(rng.Between(0, 30))];
      switch (rng.Between(0, 2)) {
        case 0: text[at] = c; break;
        case 1: text.insert(at, 1, c); break;
        default: text.erase(at, static_cast<std::size_t>(rng.Between(1, 12))); break;
      }
    }
    const auto specs = Read(text);
    if (!specs.ok()) {
      ++refused;
      EXPECT_FALSE(specs.status().message().empty()) << "seed " << seed;
      EXPECT_EQ(FirstInvalidUtf8(specs.status().message()), std::string::npos) << "seed " << seed;
      continue;
    }
    for (const auto& spec : *specs) {
      const auto converted = wire::SpecFromProto(spec);
      ASSERT_TRUE(converted.ok()) << "seed " << seed;
      EXPECT_TRUE(core::ValidateSpec(*converted).ok()) << "seed " << seed;
      EXPECT_TRUE(spec.workdir().starts_with('/')) << "seed " << seed;
      EXPECT_GE(spec.interrupt().max_grace_ms(), spec.interrupt().grace_ms()) << "seed " << seed;
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 3000);
}

}  // namespace
}  // namespace glim::jobfile
