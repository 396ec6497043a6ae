#include "nodeagent/options/agent_config.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "nodeagent/options/gone_options.h"
#include "sdk/base/printable.h"
#include "sdk/log/log.h"
#include "sdk/yaml/fields.h"

namespace glim::nodeagent {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kListMax = 64;

// "67108864", "64MiB", "64 MiB": bytes.
template <typename Number>
yaml::Field IntoSize(Number* out, std::int64_t least) {
  return [out, least](const yaml::Node& value, const std::string& path) {
    const std::string accepted = "write a whole number of bytes, or one with KiB, MiB, GiB or TiB: 64GiB";
    const std::string text = value.IsScalar() ? value.scalar : "";
    const std::size_t digits = text.find_first_not_of("0123456789");
    const std::string number = text.substr(0, digits);
    std::string unit = digits == std::string::npos ? "" : text.substr(digits);
    std::erase(unit, ' ');
    const std::vector<std::string> units = {"", "KiB", "MiB", "GiB", "TiB"};
    const auto known = std::find(units.begin(), units.end(), unit);
    if (number.empty() || number.size() > 15 || known == units.end()) {
      return yaml::RefuseAt(value, path, "'" + Printable(text) + "' is no size", accepted);
    }
    const std::int64_t amount = std::stoll(number);
    const int shift = 10 * static_cast<int>(known - units.begin());
    if (amount > (kMost >> shift) || (amount << shift) < least) {
      return yaml::RefuseAt(value, path, Printable(text) + " is out of range",
                            "use " + std::to_string(least) + " bytes or more");
    }
    *out = static_cast<Number>(amount << shift);
    return Status::Ok();
  };
}

yaml::Field IntoList(std::vector<std::string>* out) {
  return [out](const yaml::Node& value, const std::string& path) {
    if (!value.IsSequence()) return yaml::RefuseAt(value, path, "must be a list", "write it like [/data, /home]");
    if (value.items.size() > kListMax) {
      return yaml::RefuseAt(value, path, "has too many entries", "use at most " + std::to_string(kListMax));
    }
    std::vector<std::string> list;
    for (const yaml::NodePtr& item : value.items) {
      std::string text;
      if (Status status = yaml::IntoText(&text)(*item, path); !status.ok()) return status;
      list.push_back(std::move(text));
    }
    *out = std::move(list);
    return Status::Ok();
  };
}

// Of a file nobody knows from which folder it is read.
Status CheckAbsolute(const std::string& path) {
  if (path[0] == '/') return Status::Ok();
  return InvalidArgument("", "'" + Printable(path) + "' is no absolute path", "write it like /var/lib/glim-agent");
}

yaml::Fields FieldsOf(AgentOptions* o) {
  using yaml::IntoNumber;
  using yaml::IntoText;
  return {
      {"scheduler", IntoText(&o->scheduler)},
      {"insecure_without_identity", yaml::IntoBool(&o->insecure_without_identity)},
      {"login_socket", yaml::IntoText(&o->login_socket)},
      {"cluster_id", IntoText(&o->cluster_id)},
      {"node_name", IntoText(&o->node_name)},
      {"state_dir", yaml::IntoChecked(&o->state_dir, CheckAbsolute)},
      {"pool", IntoText(&o->pool)},
      {"zone", IntoText(&o->zone)},
      {"leaf", IntoText(&o->leaf)},
      {"gpu_type", IntoText(&o->gpu_type)},
      {"gpus", yaml::IntoChecked(&o->gpus_text, CheckGpus)},
      {"simulated_gpus", yaml::IntoBool(&o->simulated_gpus)},
      {"nvlink", IntoText(&o->nvlink)},
      {"nic", IntoText(&o->nic)},
      {"address", IntoText(&o->address)},
      {"hfreduce_device", IntoText(&o->hfreduce_device)},
      {"hfreduce_service_level", IntoNumber(&o->hfreduce_service_level, 0, 15)},
      {"saves_listen", IntoText(&o->saves_listen)},
      {"replica_state", IntoText(&o->replica_state)},
      {"replica_keys", IntoText(&o->replica_keys)},
      {"replica_tls", IntoText(&o->replica_tls)},
      {"replica_device", IntoText(&o->replica_device)},
      {"replica_service_level", IntoNumber(&o->replica_service_level, 0, 15)},
      {"shim", IntoText(&o->shim)},
      {"sdk", IntoText(&o->sdk)},
      {"runtime", IntoText(&o->runtime)},
      {"runc", IntoText(&o->runc)},
      {"cgroup_parent", IntoText(&o->cgroup_parent)},
      {"task_user", IntoText(&o->task_user_text)},
      {"any_user", yaml::IntoBool(&o->any_user)},
      {"saves_group_readable", yaml::IntoBool(&o->saves_group_readable)},
      {"mount_allow", IntoList(&o->mount_allow)},
      {"image_registries", IntoList(&o->image_registries)},
      {"image_bytes", IntoSize(&o->image_bytes_max, std::int64_t{64} << 20)},
      {"images_bytes", IntoSize(&o->images_bytes_max, 0)},
      {"allow_io_uring", yaml::IntoBool(&o->allow_io_uring)},
      {"allow_vsock", yaml::IntoBool(&o->allow_vsock)},
      {"user_namespace", IntoText(&o->user_namespace)},
      {"reserve_memory", IntoSize(&o->reserve_memory_bytes, 0)},
      {"tmp_bytes", IntoSize(&o->tmp_bytes_max, 0)},
      {"devices", IntoList(&o->devices)},
      {"infiniband", IntoText(&o->infiniband)},
      {"cdi_writable", yaml::IntoBool(&o->cdi_writable)},
      {"nvml", IntoText(&o->nvml)},
      {"gpu_seconds", IntoNumber(&o->gpu_seconds, 1, 3600)},
      {"sys_root", yaml::IntoChecked(&o->sys_root, CheckAbsolute)},
      {"health", IntoText(&o->health)},
      {"health_kmsg", IntoText(&o->health_kmsg)},
      {"health_root", IntoText(&o->health_root)},
      {"path_seconds", IntoNumber(&o->path_seconds, 1, 3600)},
      {"prolog", IntoText(&o->prolog)},
      {"epilog", IntoText(&o->epilog)},
      {"hook_seconds", IntoNumber(&o->hook_seconds, 1, 3600)},
      {"metrics", IntoText(&o->metrics)},
      {"log_level", yaml::IntoChecked(&o->log_level, CheckLogLevel)},
      {"machine_id", IntoText(&o->machine_id)},
      {"log_file_bytes", IntoSize(&o->log_limits.file_bytes_max, 4096)},
      {"log_files", IntoNumber(&o->log_limits.files_max, 2, 1000)},
      {"logs_bytes", IntoSize(&o->logs_bytes_max, 0)},
      {"logs_attempts", IntoNumber(&o->log_folders_max, 0, 1'000'000)},
  };
}

std::string OptionOf(const std::string& key) {
  std::string option = "--" + key;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

std::string KeyOf(const std::string& option) {
  std::string key = option.substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

}  // namespace

Status ConfigPlaces::Placed(const Status& refusal) const {
  const auto place = places_.find(refusal.field());
  if (refusal.ok() || place == places_.end()) return refusal;
  return Status(refusal.code(), place->second + refusal.message())
      .WithReason(refusal.reason())
      .WithField(refusal.field())
      .WithFix(refusal.fix());
}

Status ReadAgentConfigText(const std::string& text, const std::string& source, AgentOptions* options,
                           ConfigPlaces* places) {
  yaml::Fields fields = FieldsOf(options);
  for (const auto& [option, fix] : GoneOptions()) {
    fields[KeyOf(option)] = [fix = fix](const yaml::Node& value, const std::string& path) {
      return yaml::RefuseAt(value, path, "is gone", fix);
    };
  }
  for (auto& [key, field] : fields) {
    field = [take = field, key = key, source, places](const yaml::Node& value, const std::string& path) {
      places->Note(OptionOf(key),
                   source + ":" + std::to_string(value.mark.line) + ":" + std::to_string(value.mark.column) + ": ");
      return take(value, path);
    };
  }
  return yaml::ReadText(text, source, fields);
}

Status ReadAgentConfig(const std::string& path, AgentOptions* options, ConfigPlaces* places) {
  const Result<std::string> text = yaml::ReadTextFile(path, "--config");
  if (!text.ok()) return text.status();
  return ReadAgentConfigText(*text, path, options, places);
}

std::vector<std::string> AgentConfigKeys() {
  AgentOptions unused;
  std::vector<std::string> keys;
  for (const auto& [key, field] : FieldsOf(&unused)) keys.push_back(key);
  return keys;
}

}  // namespace glim::nodeagent
