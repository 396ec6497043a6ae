// What the spec reader refuses: the place, the field and the mend of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "scheduler/jobfile/spec_reader.h"

namespace glim::jobfile {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct BadSpec {
  const char* label;
  std::string text;
  std::string message;  // part of it
  std::string field;
  std::string fix;  // part of it
};

void PrintTo(const BadSpec& bad, std::ostream* out) { *out << bad.label; }

class BadSpecTest : public testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecTest, IsRefusedWithPlaceFieldAndFix) {
  const auto specs = ReadSpecs(GetParam().text, {"job.yaml", "/home/kim/sft"});
  ASSERT_FALSE(specs.ok());
  const Status& status = specs.status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.reason(), "INVALID_SPEC");
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
  EXPECT_THAT(status.message(), StartsWith("job.yaml"));
  EXPECT_EQ(status.field(), GetParam().field);
  EXPECT_THAT(status.fix(), HasSubstr(GetParam().fix));
}

// A spec that is right but for one more line.
std::string With(const std::string& line) { return "name: a\nrun: x\n" + line + "\n"; }

INSTANTIATE_TEST_SUITE_P(
    Keys, BadSpecTest,
    testing::Values(
        BadSpec{"top", With("node: 2"), "job.yaml:3:1: unknown key 'node'", "node", "did you mean 'nodes'?"},
        BadSpec{"spelling", With("gpusPerNode: 2"), "unknown key", "gpusPerNode", "did you mean 'gpus_per_node'?"},
        BadSpec{"synonym", With("command: ls"), "unknown key", "command", "did you mean 'run'?"},
        BadSpec{"moment", With("start_after: tomorrow"), "3:14: 'tomorrow' is no point in time", "start_after",
                "write it with its zone"},
        BadSpec{"moment_without_zone", With("start_after: 2027-01-31T18:00:00"), "is no point in time", "start_after",
                "2027-01-31T18:00:00Z"},
        BadSpec{"nested", With("placement: {leaff: any}"), "3:13: unknown key 'leaff'", "placement.leaff",
                "did you mean 'leaf'?"},
        BadSpec{"other_level", With("grace: 60s"), "unknown key", "grace", "did you mean 'interrupt.grace'?"},
        BadSpec{"outer_level", With("restart: {nodes: 3}"), "unknown key", "restart.nodes", "top level"},
        BadSpec{"nothing_near", With("restart: {zzzzzz: 3}"), "unknown key", "restart.zzzzzz", "known here: on, max"},
        BadSpec{"twice", With("name: b"), "3:1: key 'name' stands here twice", "name", "keep one"},
        BadSpec{"twice_nested", With("env: {A: 1, A: 2}"), "key 'A' stands here twice", "env.A", ""},
        BadSpec{"merge", With("<<: {nodes: 3}"), "unknown key '<<'", "<<", ""},
        BadSpec{"control", With("\"a\\x1b[31m\": 3"), "unknown key 'a\\x1b[31m'", "a\\x1b[31m", ""},
        BadSpec{"complex", With("[a, b]: 3"), "a key must be a plain word", "", ""},
        BadSpec{"no_name", "run: x\n", "'name' is missing", "name", "add a line"},
        BadSpec{"no_run", "name: x\n", "'run' is missing", "run", "add a line"}),
    [](const auto& info) { return info.param.label; });

INSTANTIATE_TEST_SUITE_P(
    NotYet, BadSpecTest,
    testing::Values(BadSpec{"services", With("services: []"), "not supported by this version", "services", ""},
                    BadSpec{"compat", With("compat: hfai"), "not supported by this version", "compat", ""},
                    BadSpec{"mpi", With("launcher: mpi"), "not supported by this version", "launcher", "per-gpu"},
                    BadSpec{"fence", With("restart: {require_fence: true}"), "not supported by this version",
                            "restart.require_fence", ""},
                    BadSpec{"image", With("image: ubuntu:22.04"), "names no registry", "image", "host"}),
    [](const auto& info) { return info.param.label; });

INSTANTIATE_TEST_SUITE_P(
    TimeAndDependencies, BadSpecTest,
    testing::Values(
        BadSpec{"time_number", With("limits: {time: 60}"), "a duration such as 60s", "limits.time",
                "add the unit: 60s"},
        BadSpec{"time_short", With("limits: {time: 10ms}"), "10ms is out of range", "limits.time", "use 1s to 365d"},
        BadSpec{"time_long", With("limits: {time: 366d}"), "366d is out of range", "limits.time", "use 1s to 365d"},
        BadSpec{"watchdog_number", With("watchdog: {no_progress: 1800}"), "a duration such as 60s",
                "watchdog.no_progress", "add the unit"},
        BadSpec{"watchdog_short", With("watchdog: {no_progress: 1s}"), "1s is out of range", "watchdog.no_progress",
                "use 5s to 7d"},
        BadSpec{"watchdog_long", With("watchdog: {no_progress: 8d}"), "8d is out of range", "watchdog.no_progress",
                "use 5s to 7d"},
        BadSpec{"watchdog_none", With("watchdog: {no_progress: 0s}"), "0s is out of range", "watchdog.no_progress",
                "use 5s to 7d"},
        BadSpec{"watchdog_key", With("watchdog: {timeout: 30m}"), "unknown key 'timeout'", "watchdog.timeout",
                "no_progress"},
        BadSpec{"watchdog_bare", With("watchdog: 30m"), "found, a mapping (key: value) wanted", "watchdog", ""},
        BadSpec{"after_scalar", With("after: 812"), "'812' found, a list wanted", "after", "write [812]"},
        BadSpec{"after_mapping", With("after: [812: ok]"), "a mapping found", "after[0]", ""},
        BadSpec{"after_word", With("after: [train]"), "3:9: 'train' does not begin with a job's number", "after[0]",
                "write it like 812"},
        BadSpec{"after_zero", With("after: [1, 0:ok]"), "'0:ok' does not begin with a job's number", "after[1]", ""},
        BadSpec{"after_huge", With("after: [99999999999999999999]"), "does not begin with a job's number", "after[0]",
                ""},
        BadSpec{"after_negative", With("after: [-3]"), "does not begin with a job's number", "after[0]", ""},
        BadSpec{"after_kind", With("after: [812:faild]"), "'faild' is none of: ok, failed, any", "after[0]",
                "did you mean 'failed'?"},
        BadSpec{"after_keep", With("after: [812:ok:kep]"), "'812:ok:kep': only 'keep' may stand behind", "after[0]",
                "812:ok:keep"},
        BadSpec{"after_keep_alone", With("after: [812:keep]"), "'keep' is none of: ok, failed, any", "after[0]", ""},
        BadSpec{"restart_own", With("restart: {on: [node_failure, job_error]}"),
                "'job_error' is none of: node_failure, xid, network, hang", "restart.on[1]", ""},
        BadSpec{"env_rank", With("env: {RANK: 0}"), "'RANK' is set by Glim itself", "env.RANK", "another name"},
        BadSpec{"signal_hup", With("interrupt: {signal: HUP}"), "'HUP' is none of", "interrupt.signal", ""},
        BadSpec{"name_above", "name: ..\nrun: x\n", "starts with '.'", "name", ""},
        BadSpec{"after_no_kind", With("after: ['812:']"), "does not say how", "after[0]", ""},
        BadSpec{"after_twice", With("after: [7:ok, 7:ok]"), "stands here twice", "after[1]", "keep one"},
        BadSpec{"after_twice_otherwise", With("after: [7, 8, '07:any']"), "job 7 stands here twice", "after[2]",
                "keep one"}),
    [](const auto& info) { return info.param.label; });

INSTANTIATE_TEST_SUITE_P(
    MountsAndLimits, BadSpecTest,
    testing::Values(
        BadSpec{"notify_word", With("notify: {on: [ended], to: [a]}"), "interrupted, failed, done", "notify.on[0]", ""},
        BadSpec{"notify_nobody", With("notify: {on: [done]}"), "is empty", "notify.to", "say when and whom"},
        BadSpec{"notify_key", With("notify: {when: [done]}"), "unknown key 'when'", "notify.when", ""},
        BadSpec{"secrets_text", With("secrets: key"), "'key' found, a list wanted", "secrets", "glim secret set"},
        BadSpec{"secret_name", With("secrets: [{env: X}]"), "'secrets[0].name' is missing", "secrets[0].name", ""},
        BadSpec{"secret_key", With("secrets: [{name: a, value: x}]"), "unknown key 'value'", "secrets[0].value", ""},
        BadSpec{"secret_path", With("secrets: [a, ../b]"), "other characters than letters", "secrets[1]", "only these"},
        BadSpec{"api_word", With("api: yes"), "'yes' found, true or false wanted", "api", ""},
        BadSpec{"mounts_text", With("mounts: /data"), "'/data' found, a list wanted", "mounts", "write [{source"},
        BadSpec{"mount_text", With("mounts: [/data]"), "found, a mapping (key: value) wanted", "mounts[0]", ""},
        BadSpec{"no_source", With("mounts: [{target: /d}]"), "'mounts[0].source' is missing", "mounts[0].source", ""},
        BadSpec{"relative", With("mounts: [{source: data}]"), "'data' is not a plain absolute path", "mounts[0].source",
                "/data/set"},
        BadSpec{"dots", With("mounts: [{source: /a, target: /b}, {source: /a/../b}]"), "not a plain absolute path",
                "mounts[1].source", ""},
        BadSpec{"same_target", With("mounts: [{source: /a, target: /d}, {source: /b, target: /d}]"),
                "the target of another mount", "mounts[1].target", "keep one"},
        BadSpec{"read_only", With("mounts: [{source: /a, read_only: yes}]"), "'yes' found, true or false wanted",
                "mounts[0].read_only", ""},
        BadSpec{"mount_key", With("mounts: [{source: /a, readonly: true}]"), "unknown key 'readonly'",
                "mounts[0].readonly", "read_only"},
        BadSpec{"memory_bare", With("limits: {memory: 64}"), "a size such as 512MiB or 64GiB wanted", "limits.memory",
                "KiB, MiB"},
        BadSpec{"memory_little", With("limits: {memory: 1KiB}"), "1KiB is out of range", "limits.memory",
                "use 16MiB to"},
        BadSpec{"shm_much", With("limits: {shm: 4000TiB}"), "4000TiB is out of range", "limits.shm", "1024TiB"},
        BadSpec{"cpus_text", With("limits: {cpus: many}"), "a number of CPUs", "limits.cpus", ""},
        BadSpec{"cpus_none", With("limits: {cpus: 0}"), "0 is out of range", "limits.cpus", "0.01 to 4096"},
        BadSpec{"cpus_huge", With("limits: {cpus: 1000000000000000000000000}"), "out of range", "limits.cpus", ""},
        BadSpec{"pids_few", With("limits: {pids: 3}"), "", "limits.pids", ""}),
    [](const auto& info) { return info.param.label; });

INSTANTIATE_TEST_SUITE_P(
    Values, BadSpecTest,
    testing::Values(
        BadSpec{"api", With("apiVersion: glim/v2"), "'glim/v2' is none of: glim/v1", "apiVersion", ""},
        BadSpec{"kind", With("kind: job"), "none of: Job", "kind", "did you mean 'Job'?"},
        BadSpec{"text_for_number", With("nodes: many"), "3:8: 'many' found, a whole number wanted", "nodes", ""},
        BadSpec{"quoted_number", With("nodes: \"4\""), "the text \"4\" found, a whole number wanted", "nodes", ""},
        BadSpec{"fraction", With("nodes: 1.5"), "whole number wanted", "nodes", ""},
        BadSpec{"hex", With("nodes: 0x10"), "whole number wanted", "nodes", ""},
        BadSpec{"list_for_number", With("nodes: [1]"), "a list found, a whole number wanted", "nodes", ""},
        BadSpec{"null_for_number", With("nodes:"), "nothing found, a whole number wanted", "nodes", ""},
        BadSpec{"zero", With("nodes: 0"), "3:8: 0 is out of range", "nodes", "use 1 to 20000"},
        BadSpec{"negative", With("nodes: -4"), "-4 is out of range", "nodes", "use 1 to"},
        BadSpec{"huge", With("nodes: 99999999999999999999999"), "out of range", "nodes", "to 20000"},
        BadSpec{"no_gpus", With("gpus_per_node: 0\nlauncher: per-gpu"), "for each GPU", "gpus_per_node", ""},
        BadSpec{"map_for_text", "name: {a: b}\nrun: x\n", "a mapping found, text wanted", "name", ""},
        BadSpec{"null_for_text", "name: ~\nrun: x\n", "nothing found, text wanted", "name", ""},
        BadSpec{"name_blank", "name: a b\nrun: x\n", "other characters", "name", ""},
        BadSpec{"name_dots", "name: ..\nrun: x\n", "starts with '.'", "name", ""},
        BadSpec{"name_long", "name: " + std::string(129, 'a') + "\nrun: x\n", "129 characters are too many", "name",
                "at most 128"},
        BadSpec{"run_blank", "name: a\nrun: ' '\n", "empty", "run", ""},
        BadSpec{"run_long", "name: a\nrun: " + std::string(16 * 1024 + 1, 'a') + "\n", "16385 bytes are too many",
                "run", "at most 16384"},
        BadSpec{"run_control", "name: a\nrun: \"x\\x07\"\n", "control character \\x07", "run", "remove"},
        BadSpec{"run_nul", "name: a\nrun: \"x\\0\"\n", "control character \\x00", "run", ""},
        BadSpec{"workdir_lines", With("workdir: \"/a\\nb\""), "control character \\n", "workdir", ""},
        BadSpec{"workdir_tilde", With("workdir: ~/x"), "not expanded", "workdir", "in full"},
        BadSpec{"priority", With("priority: hihg"), "3:11: 'hihg' is not a priority class", "priority",
                "did you mean 'high'?"},
        BadSpec{"priority_number", With("priority: 11"), "'11' is not a priority class", "priority", "use one of"},
        BadSpec{"launcher", With("launcher: per_gpu"), "none of: node, per-gpu", "launcher", "mean 'per-gpu'?"},
        BadSpec{"section_text", With("placement: pack"), "'pack' found, a mapping (key: value)", "placement", ""},
        BadSpec{"section_null", With("interrupt:"), "nothing found, a mapping", "interrupt", ""},
        BadSpec{"zones_text", With("placement: {zones: A}"), "a list wanted", "placement.zones", "write [A]"},
        BadSpec{"zones_twice", With("placement: {zones: [A, A]}"), "twice", "placement.zones[1]", ""},
        BadSpec{"zones_nested", With("placement: {zones: [[A]]}"), "a list found, text", "placement.zones[0]", ""},
        BadSpec{"nic", With("placement: {nic: ib}"), "none of: infiniband", "placement.nic", ""}),
    [](const auto& info) { return info.param.label; });

INSTANTIATE_TEST_SUITE_P(
    MoreValues, BadSpecTest,
    testing::Values(
        BadSpec{"env_list", With("env: [A]"), "a list found, a mapping", "env", ""},
        BadSpec{"env_null", With("env: {A: }"), "nothing found", "env.A", "write ''"},
        BadSpec{"env_nested", With("env: {A: [1]}"), "a list found, text wanted", "env.A", ""},
        BadSpec{"env_name", With("env: {A-B: 1}"), "no name of a variable", "env.A-B", ""},
        BadSpec{"env_glim", With("env: {GLIM_SOCKET: x}"), "set by Glim itself", "env.GLIM_SOCKET", ""},
        BadSpec{"env_master", With("env: {MASTER_PORT: 1}"), "set by Glim itself", "env.MASTER_PORT", ""},
        BadSpec{"env_value", With("env: {A: \"\\x1b\"}"), "control character", "env.A", ""},
        BadSpec{"grace_bare", With("interrupt: {grace: 60}"), "a duration such as", "interrupt.grace",
                "add the unit: 60s"},
        BadSpec{"grace_words", With("interrupt: {grace: one minute}"), "a duration such as", "interrupt.grace", ""},
        BadSpec{"grace_long", With("interrupt: {grace: 7d}"), "7d is out of range", "interrupt.grace", "use 0s to 1d"},
        BadSpec{"grace_overflow", With("interrupt: {grace: 99999999999999999d}"), "a duration", "interrupt.grace", ""},
        BadSpec{"grace_over_max", With("interrupt: {grace: 60s, max_grace: 5s}"), "shorter than interrupt.grace",
                "interrupt.max_grace", ""},
        BadSpec{"signal", With("interrupt: {signal: KILL}"), "none of: TERM", "interrupt.signal", ""},
        BadSpec{"dir_relative", With("checkpoint: {dir: ckpt}"), "not a plain absolute path", "checkpoint.dir", ""},
        BadSpec{"dir_variable", With("checkpoint: {dir: /c/$HOME}"), "'$HOME' is not expanded", "checkpoint.dir",
                "$GLIM_JOB_ID"},
        BadSpec{"keep", With("checkpoint: {keep: 0}"), "3:20: 0 is out of range", "checkpoint.keep", "use 1 to 1000"},
        BadSpec{"every", With("checkpoint: {every: 0s}"), "0s is out of range", "checkpoint.every", "use 1s to 30d"},
        BadSpec{"on_empty", With("restart: {on: []}"), "empty list", "restart.on", "max: 0"},
        BadSpec{"on_word", With("restart: {on: [node_fail]}"), "none of: node_failure", "restart.on[0]",
                "did you mean 'node_failure'?"},
        BadSpec{"second_document", "name: a\nrun: x\n---\nname: b\nnodez: 2\nrun: y\n", "5:1: unknown", "nodez", ""}),
    [](const auto& info) { return info.param.label; });

INSTANTIATE_TEST_SUITE_P(
    Text, BadSpecTest,
    testing::Values(BadSpec{"empty", "", "no job in it", "", "docs/job-spec.md"},
                    BadSpec{"comment", "# nothing\n", "no job in it", "", ""},
                    BadSpec{"list", "- a\n- b\n", "a list found, a mapping", "", ""},
                    BadSpec{"scalar", "hello", "a mapping", "", ""},
                    BadSpec{"syntax", "name: [a\nrun: x\n", "not valid YAML", "", ""},
                    BadSpec{"open_quote", "name: a\nrun: \"x\npool: b\n", "not valid YAML", "", ""},
                    BadSpec{"open_quote_at_end", With("env: {}\nworkdir: '"), "not valid YAML", "", ""},
                    BadSpec{"tab", "name: a\nplacement:\n\tleaf: any\n", "not valid YAML", "", ""},
                    BadSpec{"utf8", "name: a\nrun: x\xff\n", "2:7: not UTF-8", "run", "UTF-8"},
                    BadSpec{"overlong", "name: a\nrun: \xc0\xaf\n", "not UTF-8", "run", ""},
                    BadSpec{"utf16", std::string("\xff\xfen\0a\0", 6), "not UTF-8", "", ""},
                    BadSpec{"raw_control", "name: a\nrun: x\x1b[0m\n", "2:7: control character \\x1b", "run", ""},
                    BadSpec{"raw_nul", std::string("name: a\0b\nrun: x\n", 17), "control character \\x00", "name", ""},
                    BadSpec{"c1", "name: a\nrun: x\xc2\x9b\n", "control character \\u009b", "run", ""},
                    BadSpec{"tag", "name: !!str a\nrun: x\n", "is not supported", "", "leave tags out"},
                    BadSpec{"big", "name: a\nrun: x\n#" + std::string(1 << 20, 'x'), "at most 1048576", "", ""},
                    BadSpec{"deep_block", "name: " + std::string(17, '[') + std::string(17, ']') + "\n",
                            "deeper than 16", "", ""},
                    BadSpec{"unknown_alias", "name: *nobody\nrun: x\n", "not valid YAML", "", ""},
                    BadSpec{"own_alias", "name: &a [*a]\nrun: x\n", "alias", "", ""},
                    BadSpec{"documents",
                            [] {
                              std::string text;
                              for (int i = 0; i <= 1000; ++i) text += "---\nname: a\nrun: x\n";
                              return text;
                            }(),
                            "more than 1000 documents", "", ""}),
    [](const auto& info) { return info.param.label; });

}  // namespace
}  // namespace glim::jobfile
