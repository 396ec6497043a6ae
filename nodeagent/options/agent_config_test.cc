// The agent's configuration file.
#include "nodeagent/options/agent_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>

#include "nodeagent/options/command_line.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using ::testing::UnorderedElementsAreArray;

struct Read {
  AgentOptions options;
  ConfigPlaces places;
  Status status;
};

Read ReadConfig(const std::string& text) {
  Read read;
  read.status = ReadAgentConfigText(text, "agent.yaml", &read.options, &read.places);
  return read;
}

TEST(AgentConfig, HasAKeyForEveryOption) {
  AgentOptions options;
  CLI::App app;
  AddOptions(app, options);
  std::vector<std::string> expected;
  for (const CLI::Option* option : app.get_options()) {
    std::string key = option->get_name().substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    if (key != "help" && key != "version" && key != "config") expected.push_back(key);
  }
  EXPECT_THAT(AgentConfigKeys(), UnorderedElementsAreArray(expected));
}

TEST(AgentConfig, IsReadIntoTheOptions) {
  const Read read = ReadConfig(R"(
scheduler: head:7601
state_dir: /var/lib/glim-agent
gpus: 8
simulated_gpus: true
mount_allow: [/data, /home]
replica_state: /run/glim-replica/state
log_file_bytes: 1 MiB
logs_bytes: 1000000
path_seconds: 30
)");
  ASSERT_TRUE(read.status.ok()) << read.status.message();
  EXPECT_EQ(read.options.scheduler, "head:7601");
  EXPECT_EQ(read.options.state_dir, "/var/lib/glim-agent");
  EXPECT_EQ(read.options.gpus_text, "8");
  EXPECT_TRUE(read.options.simulated_gpus);
  EXPECT_THAT(read.options.mount_allow, ::testing::ElementsAre("/data", "/home"));
  EXPECT_EQ(read.options.replica_state, "/run/glim-replica/state");
  EXPECT_EQ(read.options.log_limits.file_bytes_max, 1 << 20);
  EXPECT_EQ(read.options.logs_bytes_max, 1'000'000);
  EXPECT_EQ(read.options.path_seconds, 30u);
  EXPECT_EQ(read.options.zone, AgentOptions().zone) << "what it does not say stays";
}

TEST(AgentConfig, RefusalsNameLineColumnAndWhatIsAccepted) {
  const struct {
    const char* text;
    const char* message;
    const char* fix;
  } cases[] = {
      {"gpus: 8\ngpu_typ: a100\n", "agent.yaml:2:1: gpu_typ: unknown key", "did you mean 'gpu_type'?"},
      {"gpus: many\n", "agent.yaml:1:7: gpus: 'many' is no number of GPUs", "use 0 to 64, or auto: what is there"},
      {"gpus: -1\n", "agent.yaml:1:7: gpus: '-1' is no number of GPUs", "use 0 to 64, or auto: what is there"},
      {"simulated_gpus: 7\n", "agent.yaml:1:17: simulated_gpus: must be true or false", "write true or false"},
      {"mount_allow: /data\n", "agent.yaml:1:14: mount_allow: must be a list", "write it like [/data, /home]"},
      {"zone: [a]\n", "agent.yaml:1:7: zone: must be a text", "write a word"},
      {"zone:\n", "agent.yaml:1:1: zone: has no value", "write a word"},
      {"logs_bytes: 64 GB\n", "agent.yaml:1:13: logs_bytes: '64 GB' is no size",
       "write a whole number of bytes, or one with KiB, MiB, GiB or TiB: 64GiB"},
      {"log_file_bytes: 1\n", "agent.yaml:1:17: log_file_bytes: 1 is out of range", "use 4096 bytes or more"},
      {"gpus: 8\nlog_level: loud\n", "agent.yaml:2:12: log_level: 'loud' is not a level",
       "use trace, debug, info, warning, error, critical or off"},
      {"state_dir: state\n", "agent.yaml:1:12: state_dir: 'state' is no absolute path",
       "write it like /var/lib/glim-agent"},
      {"path_seconds: 0\n", "agent.yaml:1:15: path_seconds: 0 is out of range", "use 1 to 3600"},
  };
  for (const auto& c : cases) {
    const Status status = ReadConfig(c.text).status;
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.text;
    EXPECT_EQ(status.message(), c.message);
    EXPECT_EQ(status.fix(), c.fix) << c.text;
  }
}

// From an earlier release: who upgrades reads what to do, and the agent ends with 2.
TEST(AgentConfig, WhatIsGoneSaysWhatToDoNow) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"replica_memory: 64GiB", "--replica-memory", "/etc/glim/replica.env"},
      {"replica_listen: n1:7604", "--replica-listen", "/etc/glim/replica.env"},
      {"replica_secret_file: /etc/glim/secret", "--replica-secret-file", "no secret is needed any more"},
  };
  for (const auto& [line, option, fix] : cases) {
    const Status status = ReadConfig(line).status;
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << line;
    EXPECT_NE(status.message().find(": is gone"), std::string::npos) << status.message();
    EXPECT_NE(status.fix().find(fix), std::string::npos) << status.fix();
    const std::string with_value = std::string(option) + "=x";
    for (const char* word : {option, with_value.c_str()}) {
      const char* const argv[] = {"glim-agent", word, "x"};
      const Status refused = ParseCommandLine(3, argv).status();
      EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
      EXPECT_EQ(refused.message(), std::string(option) + " is gone");
      EXPECT_EQ(refused.fix(), status.fix());
    }
  }
}

TEST(AgentConfig, WhatOnlyTheWholeCanTellIsPlacedToo) {
  const Read read = ReadConfig("gpus: 8\nzone: a/b\n");
  ASSERT_TRUE(read.status.ok());
  const Status refusal = InvalidArgument("--zone", "--zone \"a/b\" is not a name", "use letters");
  EXPECT_EQ(read.places.Placed(refusal).message(), "agent.yaml:2:7: --zone \"a/b\" is not a name");
  EXPECT_EQ(read.places.Placed(refusal).fix(), "use letters");
  const Status elsewhere = InvalidArgument("--leaf", "--leaf \"a/b\" is not a name");
  EXPECT_EQ(read.places.Placed(elsewhere).message(), "--leaf \"a/b\" is not a name");
}

TEST(AgentConfig, FlagsOverrideIt) {
  TempFolder folder;
  const std::string path = folder.path() + "/agent.yaml";
  std::ofstream(path) << "zone: z1\nleaf: l1\nmount_allow: [/data, /home]\n";
  const char* const argv[] = {"glim-agent", "--config", path.c_str(), "--zone", "z2", "--mount-allow", "/scratch"};
  const Result<CommandLine> line = ParseCommandLine(7, argv);
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_FALSE(line->exit_code);
  EXPECT_EQ(line->options.zone, "z2");
  EXPECT_EQ(line->options.leaf, "l1");
  EXPECT_THAT(line->options.defaults, ::testing::ElementsAre("pool", "gpu_type", "gpus", "nvlink", "nic", "address"));
  EXPECT_THAT(line->options.mount_allow, ::testing::ElementsAre("/scratch"));
  EXPECT_EQ(line->places.Placed(InvalidArgument("--zone", "x")).message(), "x") << "said on the command line";
  EXPECT_EQ(line->places.Placed(InvalidArgument("--leaf", "x")).message(), path + ":2:7: x");
}

// What the file takes the command line takes, too, in the same words.
TEST(AgentConfig, OptionsTakeSizesAndRefuseWhatIsOutOfRange) {
  const char* const sizes[] = {"glim-agent", "--log-file-bytes", "16MiB", "--logs-bytes",
                               "4GiB",       "--tmp-bytes",      "1GiB"};
  const Result<CommandLine> line = ParseCommandLine(7, sizes);
  ASSERT_TRUE(line.ok());
  EXPECT_FALSE(line->exit_code);
  EXPECT_EQ(line->options.log_limits.file_bytes_max, 16 << 20);
  EXPECT_EQ(line->options.logs_bytes_max, std::int64_t{4} << 30);
  EXPECT_EQ(line->options.tmp_bytes_max, 1 << 30);
  for (const auto& [option, value, says] : {std::tuple("--gpus", "-1", "--gpus: '-1' is no number of GPUs"),
                                            std::tuple("--log-files", "1", "--log-files: Value 1 not in range"),
                                            std::tuple("--log-level", "loud", "--log-level: 'loud' is not a level")}) {
    const char* const argv[] = {"glim-agent", option, value};
    ::testing::internal::CaptureStderr();
    const Result<CommandLine> refused = ParseCommandLine(3, argv);
    const std::string said = ::testing::internal::GetCapturedStderr();
    ASSERT_TRUE(refused.ok());
    EXPECT_EQ(refused->exit_code, 2) << option;
    EXPECT_NE(said.find(says), std::string::npos) << said;
  }
}

TEST(AgentConfig, AFileThatIsNotThereIsRefused) {
  const char* const argv[] = {"glim-agent", "--config", "/nonexistent/agent.yaml"};
  const Result<CommandLine> line = ParseCommandLine(3, argv);
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.status().field(), "--config");
}

TEST(AgentConfig, TheExampleIsRight) {
  Read read;
  read.status = ReadAgentConfig(SourceFile("deploy/agent.yaml"), &read.options, &read.places);
  EXPECT_TRUE(read.status.ok()) << read.status.message();
  const AgentOptions shown = read.options, defaults;  // "What is left out has the value shown"
  EXPECT_EQ(shown.runtime, defaults.runtime);
  EXPECT_EQ(shown.task_user_text, defaults.task_user_text);
  EXPECT_EQ(shown.mount_allow, defaults.mount_allow);
  EXPECT_EQ(shown.path_seconds, defaults.path_seconds);
  EXPECT_EQ(shown.tmp_bytes_max, defaults.tmp_bytes_max);
  EXPECT_EQ(shown.prolog + shown.epilog, "");
  EXPECT_EQ(shown.hook_seconds, defaults.hook_seconds);
  EXPECT_EQ(shown.log_level, defaults.log_level);
  EXPECT_EQ(shown.log_limits.file_bytes_max, defaults.log_limits.file_bytes_max);
  EXPECT_EQ(shown.log_limits.files_max, defaults.log_limits.files_max);
  EXPECT_EQ(shown.logs_bytes_max, defaults.logs_bytes_max);
  EXPECT_EQ(shown.log_folders_max, defaults.log_folders_max);
}

}  // namespace
}  // namespace glim::nodeagent
