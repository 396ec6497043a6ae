#include "nodeagent/task/task_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "nodeagent/task/task_user_json.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;
using EnvList = std::vector<std::pair<std::string, std::string>>;
using Numbers = std::vector<std::uint32_t>;

constexpr int kFormat = 1;

std::string Dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json EnvToJson(const EnvList& env) {
  json list = json::array();
  for (const auto& [name, value] : env) list.push_back({name, value});
  return list;
}

EnvList EnvFromJson(const json& list) {
  EnvList env;
  for (const json& pair : list) env.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  return env;
}

json MountsToJson(const std::vector<Mount>& mounts) {
  json list = json::array();
  for (const Mount& mount : mounts) list.push_back({mount.source, mount.target, mount.read_only});
  return list;
}

std::vector<Mount> MountsFromJson(const json& list) {
  std::vector<Mount> mounts;
  for (const json& mount : list) {
    mounts.push_back({mount.at(0).get<std::string>(), mount.at(1).get<std::string>(), mount.at(2).get<bool>()});
  }
  return mounts;
}

json LimitsToJson(const TaskLimits& limits) {
  return {{"memory_bytes", limits.memory_bytes},
          {"cpu_millis", limits.cpu_millis},
          {"pids", limits.pids},
          {"shm_bytes", limits.shm_bytes},
          {"memory_by_default", limits.memory_by_default}};
}

TaskLimits LimitsFromJson(const json& value) {
  return {value.at("memory_bytes").get<std::int64_t>(), value.at("cpu_millis").get<std::int64_t>(),
          value.at("pids").get<std::int64_t>(), value.at("shm_bytes").get<std::int64_t>(),
          value.value("memory_by_default", false)};
}

json ContainerToJson(const std::optional<ContainerLaunch>& container) {
  if (!container) return nullptr;
  return {{"runc", container->runc},
          {"root", container->root},
          {"id", container->id},
          {"bundle", container->bundle},
          {"cgroup", container->cgroup}};
}

std::optional<ContainerLaunch> ContainerFromJson(const json& value) {
  if (value.is_null()) return std::nullopt;
  return ContainerLaunch{value.at("runc").get<std::string>(), value.at("root").get<std::string>(),
                         value.at("id").get<std::string>(), value.at("bundle").get<std::string>(),
                         value.at("cgroup").get<std::string>()};
}

// Runs `read` on the parsed text; whatever is wrong with it becomes a Status: exceptions end here.
template <typename T, typename Read>
Result<T> Parse(const std::string& what, const std::string& text, Read read) {
  try {
    const json value = json::parse(text);
    if (value.at("format").get<int>() != kFormat) {
      return Status(StatusCode::kFailedPrecondition, what + " has a format that this version does not know");
    }
    return read(value);
  } catch (const json::exception& error) {
    return Status(StatusCode::kDataLoss, what + ": " + error.what());
  }
}

}  // namespace

bool IsOwnCheckpointFolder(const std::string& state_dir, const LaunchSpec& spec) {
  return spec.checkpoint_folder == state_dir + "/checkpoints/" + spec.task.substr(0, spec.task.find('.'));
}

Status MakeOwnCheckpointFolder(const std::string& path, const std::optional<TaskUser>& user, bool group_readable) {
  if (::access(path.c_str(), F_OK) == 0) return Status::Ok();
  Status status = MakeFolders(path);
  if (status.ok()) status = GiveToUser(user, path);
  if (!status.ok() || !group_readable || ::chmod(path.c_str(), 02750) == 0) return status;
  return FileError("share", path, errno);
}

uid_t UidOf(const LaunchSpec& spec, const TaskPaths& paths) {
  if (spec.user) return spec.user->uid;
  struct stat info {};
  return ::stat(paths.run().c_str(), &info) == 0 ? info.st_uid : ::geteuid();
}

std::string ToJson(const LaunchSpec& spec) {
  json ranks = json::array();
  for (const RankLaunch& rank : spec.ranks) {
    ranks.push_back({{"rank", rank.rank}, {"env", EnvToJson(rank.env)}, {"cpus", rank.cpus}, {"memory", rank.memory}});
  }
  return Dump({{"format", kFormat},
               {"task", spec.task},
               {"group", spec.group},
               {"job_name", spec.job_name},
               {"workdir", spec.workdir},
               {"run", spec.run},
               {"shell", spec.shell},
               {"log_folder", spec.log_folder},
               {"log_file_bytes_max", spec.log_limits.file_bytes_max},
               {"log_files_max", spec.log_limits.files_max},
               {"gpus", spec.gpus},
               {"env", EnvToJson(spec.env)},
               {"checkpoint_folder", spec.checkpoint_folder},
               {"checkpoint_root", spec.checkpoint_root},
               {"secrets_folder", spec.secrets_folder},
               {"secret_env", EnvToJson(spec.secret_env)},
               {"code_folder", spec.code_folder},
               {"mounts", MountsToJson(spec.mounts)},
               {"limits", LimitsToJson(spec.limits)},
               {"container", ContainerToJson(spec.container)},
               {"user", spec.user ? JsonOf(*spec.user) : json()},
               {"ranks", ranks}});
}

Result<LaunchSpec> ParseLaunchSpec(const std::string& text) {
  return Parse<LaunchSpec>("launch.json", text, [](const json& value) -> Result<LaunchSpec> {
    LaunchSpec spec;
    spec.task = value.at("task").get<std::string>();
    spec.group = value.value("group", "");  // not in the files of earlier versions
    spec.job_name = value.at("job_name").get<std::string>();
    spec.workdir = value.at("workdir").get<std::string>();
    spec.run = value.at("run").get<std::string>();
    spec.shell = value.at("shell").get<std::string>();
    spec.log_folder = value.at("log_folder").get<std::string>();
    spec.log_limits.file_bytes_max = value.at("log_file_bytes_max").get<std::int64_t>();
    spec.log_limits.files_max = value.at("log_files_max").get<std::uint32_t>();
    spec.gpus = value.at("gpus").get<std::uint32_t>();
    spec.env = EnvFromJson(value.at("env"));
    spec.checkpoint_folder = value.at("checkpoint_folder").get<std::string>();
    spec.checkpoint_root = value.value("checkpoint_root", false);
    spec.secrets_folder = value.value("secrets_folder", "");
    spec.secret_env = EnvFromJson(value.value("secret_env", json::array()));
    spec.code_folder = value.value("code_folder", "");  // not in the files of earlier versions
    spec.mounts = MountsFromJson(value.at("mounts"));
    spec.limits = LimitsFromJson(value.at("limits"));
    spec.container = ContainerFromJson(value.at("container"));
    // Not in the files of earlier versions.
    if (const json user = value.value("user", json()); !user.is_null()) spec.user = UserFromJson(user);
    for (const json& rank : value.at("ranks")) {
      spec.ranks.push_back({rank.at("rank").get<std::uint32_t>(), EnvFromJson(rank.at("env")),
                            rank.value("cpus", Numbers()), rank.value("memory", Numbers())});
    }
    if (spec.ranks.empty() || spec.ranks.size() > kRanksPerTaskMax) {
      return Status(StatusCode::kInvalidArgument,
                    "launch.json: ranks must be 1 to " + std::to_string(kRanksPerTaskMax));
    }
    return spec;
  });
}

std::string ToJson(const ProcessIdentity& identity) {
  return Dump({{"format", kFormat},
               {"boot_id", identity.boot_id},
               {"pid", identity.pid},
               {"start_ticks", identity.start_ticks}});
}

Result<ProcessIdentity> ParseProcessIdentity(const std::string& text) {
  return Parse<ProcessIdentity>("shim.json", text, [](const json& value) -> Result<ProcessIdentity> {
    ProcessIdentity identity;
    identity.boot_id = value.at("boot_id").get<std::string>();
    identity.pid = value.at("pid").get<pid_t>();
    identity.start_ticks = value.at("start_ticks").get<std::uint64_t>();
    return identity;
  });
}

std::string ToJson(const TaskStatus& status) {
  json ranks = json::array();
  for (const RankStatus& rank : status.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"pid", rank.pid},
                     {"exited", rank.exited},
                     {"exit_code", rank.exit_code},
                     {"exited_at_ms", rank.exited_at_ms},
                     {"out_of_memory", rank.out_of_memory}});
  }
  return Dump({{"format", kFormat},
               {"started", status.started},
               {"start_failed", status.start_failed},
               {"fault", ToWord(status.fault)},
               {"ended", status.ended},
               {"exit_code", status.exit_code},
               {"message", status.message},
               {"first_output_ms", status.first_output_ms},
               {"out_of_memory", status.out_of_memory},
               {"ranks", ranks}});
}

Result<TaskStatus> ParseTaskStatus(const std::string& text) {
  return Parse<TaskStatus>("status.json", text, [](const json& value) -> Result<TaskStatus> {
    TaskStatus status;
    status.started = value.at("started").get<bool>();
    status.start_failed = value.at("start_failed").get<bool>();
    status.fault = StartFaultOf(value.value("fault", ""));  // shims of earlier versions do not say
    status.ended = value.at("ended").get<bool>();
    status.exit_code = value.at("exit_code").get<int>();
    status.message = value.at("message").get<std::string>();
    status.first_output_ms = value.at("first_output_ms").get<std::int64_t>();
    status.out_of_memory = value.value("out_of_memory", false);  // shims of earlier versions do not say
    for (const json& rank : value.at("ranks")) {
      status.ranks.push_back({rank.at("rank").get<std::uint32_t>(), rank.at("pid").get<pid_t>(),
                              rank.at("exited").get<bool>(), rank.at("exit_code").get<int>(),
                              rank.value("exited_at_ms", std::int64_t{0}), rank.value("out_of_memory", false)});
    }
    return status;
  });
}

}  // namespace glim::nodeagent
