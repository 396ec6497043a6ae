// What a job takes in bytes: everything that a user may write, and nothing less than what the store writes of it.
#include "scheduler/core/model/spec_bytes.h"

#include <gtest/gtest.h>

namespace glim::core {
namespace {

std::int64_t Beyond(const JobSpec& spec) { return SpecBytes(spec) - SpecBytes(JobSpec{}); }

TEST(SpecBytes, EveryTextCounts) {
  const std::string text(1000, 'x');
  const struct {
    const char* field;
    void (*set)(JobSpec& spec, const std::string& text);
  } kTexts[] = {
      {"name", [](JobSpec& s, const std::string& t) { s.name = t; }},
      {"pool", [](JobSpec& s, const std::string& t) { s.pool += t; }},
      {"team", [](JobSpec& s, const std::string& t) { s.team = t; }},
      {"image", [](JobSpec& s, const std::string& t) { s.image += t; }},
      {"workdir", [](JobSpec& s, const std::string& t) { s.workdir = t; }},
      {"run", [](JobSpec& s, const std::string& t) { s.run = t; }},
      {"env",
       [](JobSpec& s, const std::string& t) {
         s.env = {{"A", t}};
       }},
      {"env's name",
       [](JobSpec& s, const std::string& t) {
         s.env = {{t, ""}};
       }},
      {"checkpoint.dir", [](JobSpec& s, const std::string& t) { s.checkpoint_dir = t; }},
      {"mounts.source",
       [](JobSpec& s, const std::string& t) {
         s.mounts = {{t, "", false}};
       }},
      {"mounts.target",
       [](JobSpec& s, const std::string& t) {
         s.mounts = {{"", t, false}};
       }},
      {"placement.zones", [](JobSpec& s, const std::string& t) { s.placement.zones = {t}; }},
      {"placement.gpu_type", [](JobSpec& s, const std::string& t) { s.placement.gpu_type = t; }},
      {"placement.node", [](JobSpec& s, const std::string& t) { s.placement.node = t; }},
      {"restart.on", [](JobSpec& s, const std::string& t) { s.restart_on.push_back(t); }},
      {"snapshot.path", [](JobSpec& s, const std::string& t) { s.snapshot.path = t; }},
      {"snapshot.revision", [](JobSpec& s, const std::string& t) { s.snapshot.revision = t; }},
      {"secrets",
       [](JobSpec& s, const std::string& t) {
         s.secrets = {{t, ""}};
       }},
      {"secrets.env",
       [](JobSpec& s, const std::string& t) {
         s.secrets = {{"", t}};
       }},
      {"notify.to", [](JobSpec& s, const std::string& t) { s.notify.to = {t}; }},
  };
  for (const auto& row : kTexts) {
    JobSpec spec;
    row.set(spec, text);
    EXPECT_GE(Beyond(spec), 1000) << row.field;
    EXPECT_LE(Beyond(spec), 1000 + kElementBytes + 8) << row.field;
  }
}

TEST(SpecBytes, WhatIsWrittenAsTwoCharactersCountsTwice) {
  JobSpec spec;
  spec.run = std::string(500, '"') + std::string(300, '\\') + std::string(200, '\n');
  EXPECT_EQ(Beyond(spec), 2000);
}

TEST(SpecBytes, ManySmallElementsAreNotSmall) {
  JobSpec spec;
  for (int i = 0; i < 64; ++i) spec.after.push_back({JobId(1), DependencyKind::kOk, false});
  EXPECT_EQ(Beyond(spec), 64 * kElementBytes);
  for (int i = 0; i < 200; ++i) spec.env.emplace_back("A", "");
  EXPECT_EQ(Beyond(spec), 64 * kElementBytes + 200 * (kElementBytes + 1));
}

TEST(SpecBytes, TheLargestFieldIsNamed) {
  JobSpec spec;
  EXPECT_EQ(LargestField(spec), "") << "nothing is large";
  spec.run.assign(10'000, 'x');
  EXPECT_EQ(LargestField(spec), "run");
  for (int i = 0; i < 10; ++i) spec.env.emplace_back("A", std::string(2'000, 'x'));
  EXPECT_EQ(LargestField(spec), "env");
}

TEST(SpecBytes, WhatIsToldOfTheJobCountsToo) {
  Job job;
  job.message.assign(100, 'm');
  job.durable.path.assign(1000, 'p');
  job.older.resize(2);
  job.older[1].local.assign(500, 'l');
  EXPECT_EQ(TaleBytes(job), 100 + 1000 + 500 + 2 * kElementBytes);
}

}  // namespace
}  // namespace glim::core
