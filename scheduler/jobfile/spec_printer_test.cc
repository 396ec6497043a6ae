#include "scheduler/jobfile/spec_printer.h"

#include <string>

#include <gtest/gtest.h>

#include "scheduler/jobfile/spec_keys.h"
#include "scheduler/jobfile/spec_reader.h"
#include "scheduler/wire/spec_convert.h"

namespace glim::jobfile {
namespace {

glim::v1::JobSpec ReadBack(const std::string& text) {
  const auto specs = ReadSpecs(text, {"job.yaml", "/home/kim"});
  EXPECT_TRUE(specs.ok()) << specs.status().message() << "\n" << text;
  return specs.ok() ? specs->at(0) : glim::v1::JobSpec();
}

// As a job file is written by hand: every key that this version has.
constexpr char kEverything[] = R"(apiVersion: glim/v1
kind: Job
name: sft
team: lang
pool: a100
priority: high
nodes: 1
gpus_per_node: 4
placement:
  zones: [A, B]
  leaf: any
  cross_zone: never
  gpu_type: A100-80G
  nvlink: pair
  nic: roce
  node: n7
image: host
workdir: /home/kim/sft
code: snapshot
run: |-
  set -e
    python train.py  # "two" blanks
launcher: per-gpu
env:
  OMP_NUM_THREADS: "8"
  EMPTY: ""
  TEXT: a b
interrupt:
  mode: signal
  grace: 2m
  max_grace: 1h
  signal: USR1
  to: all
checkpoint:
  dir: /ckpt/${GLIM_JOB_ID}
  every: 500s
  keep: 7
  if_unreachable: wait
restart:
  on: [node_failure, hang]
  max: 0
  backoff: 500ms
watchdog:
  no_progress: 90s
mounts:
  - {source: /data, target: /in, read_only: true}
  - {source: /scratch}
limits:
  memory: 1536MiB
  cpus: 1.5
  pids: 4096
  shm: 2GiB
  time: 36h
secrets:
  - wandb-key
  - {name: hf, env: HF_TOKEN}
api: true
notify:
  on: [interrupted, done]
  to: [team-chat]
after: ["812:ok", "813:any:keep"]
start_after: "2027-01-31T10:00:00.500Z"
)";

TEST(PrintSpec, WritesWhatAPersonWouldWrite) { EXPECT_EQ(PrintSpec(ReadBack(kEverything)), kEverything); }

TEST(PrintSpec, NoKeyIsLostOnItsWayThroughTheScheduler) {
  const auto spec = wire::SpecFromProto(ReadBack(kEverything));
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  glim::v1::JobSpec again;
  wire::SpecToProto(*spec, &again);
  std::string all = kEverything;
  const std::string asked = "code: snapshot\n";  // of the client; the scheduler keeps the snapshot that was made
  all.erase(all.find(asked), asked.size());
  EXPECT_EQ(PrintSpec(again), all) << "wire/spec_convert.cc has each key both ways";
}

TEST(PrintSpec, HasEveryKey) {
  const std::string printed = "\n" + PrintSpec(ReadBack(kEverything));
  for (const SpecSection& section : SpecSections()) {
    for (const SpecKey& key : section.keys) {
      if (key.kind == KeyKind::kRefused) continue;
      const std::string name = std::string(key.name) + ":";
      const bool is_there =
          printed.find("\n" + name) != std::string::npos || printed.find("\n  " + name) != std::string::npos ||
          printed.find("{" + name) != std::string::npos || printed.find(", " + name) != std::string::npos;
      EXPECT_TRUE(is_there) << section.path << "." << key.name << ": write it into kEverything, and print it";
    }
  }
}

TEST(PrintSpec, OfTheShortestFileWritesTheDefaults) {
  EXPECT_EQ(PrintSpec(ReadBack("{name: a, run: x}")), R"(apiVersion: glim/v1
kind: Job
name: a
priority: normal
nodes: 1
gpus_per_node: 8
placement:
  leaf: pack
  cross_zone: auto
image: host
workdir: /home/kim
run: x
launcher: node
interrupt:
  mode: auto
  grace: 1m
  max_grace: 5m
  signal: TERM
  to: main
checkpoint:
  keep: 3
  if_unreachable: older
restart:
  on: [node_failure, xid, network]
  max: 20
  backoff: 30s
)");
}

TEST(PrintSpec, TextsOfAllKindsAreReadBack) {
  for (const std::string text : {"null",
                                 "~",
                                 "yes",
                                 "NO",
                                 "1",
                                 "0x1F",
                                 "1e3",
                                 "- a",
                                 "a: b",
                                 "a #b",
                                 "#b",
                                 "{a}",
                                 "[a",
                                 "*a",
                                 "&a",
                                 "!a",
                                 "%a",
                                 "'a'",
                                 "\"a\"",
                                 "a\\b",
                                 " a",
                                 "a ",
                                 "a\tb",
                                 "\ta",
                                 "a\n",
                                 "a\n\n",
                                 "\na",
                                 "a\n b\n",
                                 " a\nb",
                                 "a\n\n\nb",
                                 "a\n\tb",
                                 "a\n \nb",
                                 "\xc3\xa4\n\xe4\xb8\xad",
                                 "\xe2\x80\xa8",
                                 "\xf0\x9f\x9a\x80",
                                 "|",
                                 ">",
                                 "?",
                                 "---",
                                 "...",
                                 "a: |\n  b",
                                 "cd x && ls",
                                 "python train.py --lr 0.1",
                                 "X=1 python (a) $Y",
                                 "@a",
                                 "`a`",
                                 ",a"}) {
    SCOPED_TRACE(text);
    glim::v1::JobSpec spec = ReadBack("{name: a, run: x, env: {A: x}}");
    spec.mutable_env(0)->set_value(text);
    const std::string printed = PrintSpec(spec);
    EXPECT_EQ(ReadBack(printed).env(0).value(), text) << printed;
  }
}

TEST(PrintSpec, SizesThatAFileCannotSayAreRoundedUp) {
  glim::v1::JobSpec spec = ReadBack("{name: a, run: x, limits: {memory: 16MiB}}");
  spec.mutable_limits()->set_memory_bytes(spec.limits().memory_bytes() + 1);
  EXPECT_EQ(ReadBack(PrintSpec(spec)).limits().memory_bytes(), (16 << 20) + 1024);
}

}  // namespace
}  // namespace glim::jobfile
