#include "nodeagent/devices/cdi_spec.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <set>

#include "sdk/base/printable.h"
#include "sdk/yaml/fields.h"

namespace glim::nodeagent {
namespace {

using yaml::Field;
using yaml::Node;

constexpr const char* kVersions[] = {"0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0"};
constexpr std::int64_t kDeviceNumberMax = 0xffffffff;
constexpr std::size_t kNameBytesMax = 128;

bool IsWord(std::string_view text, std::string_view beside) {
  return !text.empty() && text.size() <= kNameBytesMax && std::isalnum(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(), [&](unsigned char c) {
           return std::isalnum(c) != 0 || beside.find(static_cast<char>(c)) != std::string_view::npos;
         });
}

bool IsKind(const std::string& text) {
  const std::size_t slash = text.find('/');
  return slash != std::string::npos && IsWord(std::string_view(text).substr(0, slash), "_-.") &&
         IsWord(std::string_view(text).substr(slash + 1), "_-.");
}

bool IsDevice(const std::string& text) { return IsWord(text, "_-.:"); }

// Absolute, and of one spelling.
bool IsCdiPath(const std::string& text) {
  return text.size() > 1 && text[0] == '/' && text.back() != '/' && text.find("//") == std::string::npos &&
         (text + "/").find("/../") == std::string::npos && (text + "/").find("/./") == std::string::npos &&
         Escaped(text) == text;
}

Field Ignored() {
  return [](const Node&, const std::string&) { return Status::Ok(); };
}

Field IntoPath(std::string* out) {
  return yaml::IntoChecked(out, [](const std::string& text) {
    if (IsCdiPath(text)) return Status::Ok();
    return InvalidArgument("", "'" + Printable(text) + "' is no absolute path", "write it like /dev/nvidia0");
  });
}

Field IntoOptional(std::optional<std::int64_t>* out) {
  return [out](const Node& value, const std::string& path) {
    const auto number = yaml::ReadNumber(value, path, 0, kDeviceNumberMax);
    if (!number.ok()) return number.status();
    *out = *number;
    return Status::Ok();
  };
}

Field IntoOneOf(std::string* out, std::function<bool(const std::string&)> is, const char* fix) {
  return yaml::IntoChecked(out, [is = std::move(is), fix](const std::string& text) {
    return is(text) ? Status::Ok() : InvalidArgument("", "'" + Printable(text) + "' is unknown", fix);
  });
}

using Take = std::function<Status(const Node& item, const std::string& path)>;

// A list of at most `max`, each handed to `take` with its own path.
Field Each(std::size_t max, Take take) {
  return [max, take = std::move(take)](const Node& value, const std::string& path) {
    if (value.IsNull()) return Status::Ok();
    if (!value.IsSequence()) return yaml::RefuseAt(value, path, "must be a list", "write it like [...]");
    if (value.items.size() > max) {
      return yaml::RefuseAt(value, path, "has too many entries", "use at most " + std::to_string(max));
    }
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (Status status = take(*value.items[i], path + "[" + std::to_string(i) + "]"); !status.ok()) return status;
    }
    return Status::Ok();
  };
}

Status Need(const Node& node, const std::string& path, const std::string& text, const char* key) {
  if (!text.empty()) return Status::Ok();
  return yaml::RefuseAt(node, yaml::JoinPath(path, key), "is missing", "say it");
}

Status TakeEnv(const Node& item, const std::string& path, CdiEdits* edits) {
  std::string text;
  if (Status status = yaml::IntoText(&text)(item, path); !status.ok()) return status;
  const std::size_t equal = text.find('=');
  const bool plain = Escaped(text) == text;
  if (equal == 0 || equal == std::string::npos || !plain) {
    return yaml::RefuseAt(item, path, "'" + Printable(text) + "' is no variable", "write it like NAME=value");
  }
  edits->env.emplace_back(text.substr(0, equal), text.substr(equal + 1));
  return Status::Ok();
}

Status TakeDeviceNode(const Node& item, const std::string& path, CdiEdits* edits) {
  CdiDeviceNode node;
  const auto is_type = [](const std::string& text) {
    return text.size() == 1 && text.find_first_of("cubp") != std::string::npos;
  };
  const auto is_access = [](const std::string& text) { return text.find_first_not_of("rwm") == std::string::npos; };
  const yaml::Fields fields = {
      {"path", IntoPath(&node.path)},
      {"hostPath", IntoPath(&node.host_path)},
      {"type", IntoOneOf(&node.type, is_type, "use c, u, b or p")},
      {"major", IntoOptional(&node.major)},
      {"minor", IntoOptional(&node.minor)},
      {"permissions", IntoOneOf(&node.permissions, is_access, "use of r, w and m what is wanted")},
      // The node stays whose it is on the node.
      {"fileMode", Ignored()},
      {"uid", Ignored()},
      {"gid", Ignored()},
  };
  if (Status status = yaml::ReadMap(item, path, fields); !status.ok()) return status;
  if (Status status = Need(item, path, node.path, "path"); !status.ok()) return status;
  if (node.host_path.empty()) node.host_path = node.path;
  edits->nodes.push_back(std::move(node));
  return Status::Ok();
}

Status TakeMount(const Node& item, const std::string& path, CdiEdits* edits) {
  CdiMount mount;
  std::string type;
  const Take take_option = [&](const Node& option, const std::string& at) {
    std::string text;
    if (Status status = yaml::IntoText(&text)(option, at); !status.ok()) return status;
    if (text == "ro") mount.read_only = true;
    return Status::Ok();
  };
  const auto is_bind = [](const std::string& text) { return text == "bind" || text == "none"; };
  const yaml::Fields fields = {
      {"hostPath", IntoPath(&mount.host_path)},
      {"containerPath", IntoPath(&mount.container_path)},
      {"type", IntoOneOf(&type, is_bind, "only what is on the node is mounted: use bind")},
      {"options", Each(kCdiEditsMax, take_option)},
  };
  if (Status status = yaml::ReadMap(item, path, fields); !status.ok()) return status;
  if (Status status = Need(item, path, mount.host_path, "hostPath"); !status.ok()) return status;
  if (Status status = Need(item, path, mount.container_path, "containerPath"); !status.ok()) return status;
  edits->mounts.push_back(std::move(mount));
  return Status::Ok();
}

Status TakeHook(const Node& item, const std::string& path, CdiEdits* edits) {
  std::string name, program;
  const yaml::Fields fields = {{"hookName", yaml::IntoText(&name)},
                               {"path", yaml::IntoText(&program)},
                               {"args", Ignored()},
                               {"env", Ignored()},
                               {"timeout", Ignored()}};
  if (Status status = yaml::ReadMap(item, path, fields); !status.ok()) return status;
  edits->hooks.push_back(Printable(name) + " " + Printable(program));
  return Status::Ok();
}

Field IntoEdits(CdiEdits* edits) {
  const auto with = [edits](auto take) {
    return [edits, take](const Node& item, const std::string& path) { return take(item, path, edits); };
  };
  const auto other = [edits](const char* name) {
    return [edits, name](const Node& value, const std::string&) {
      if (!value.IsNull()) edits->others.emplace_back(name);
      return Status::Ok();
    };
  };
  return [=](const Node& value, const std::string& path) {
    return yaml::ReadMap(value, path,
                         {{"env", Each(kCdiEditsMax, with(TakeEnv))},
                          {"deviceNodes", Each(kCdiEditsMax, with(TakeDeviceNode))},
                          {"mounts", Each(kCdiEditsMax, with(TakeMount))},
                          {"hooks", Each(kCdiEditsMax, with(TakeHook))},
                          {"additionalGids", other("additionalGids")},
                          {"intelRdt", other("intelRdt")}});
  };
}

Status TakeDevice(const Node& item, const std::string& path, CdiSpec* spec) {
  CdiDevice device;
  const yaml::Fields fields = {{"name", IntoOneOf(&device.name, IsDevice, "use letters, digits and _ - . :")},
                               {"annotations", Ignored()},
                               {"containerEdits", IntoEdits(&device.edits)}};
  if (Status status = yaml::ReadMap(item, path, fields); !status.ok()) return status;
  if (Status status = Need(item, path, device.name, "name"); !status.ok()) return status;
  const bool twice = std::any_of(spec->devices.begin(), spec->devices.end(),
                                 [&](const CdiDevice& d) { return d.name == device.name; });
  if (twice) return yaml::RefuseAt(item, path, "device '" + device.name + "' is there twice", "give it once");
  spec->devices.push_back(std::move(device));
  return Status::Ok();
}

}  // namespace

Result<CdiSpec> ParseCdi(std::string_view text, const std::string& source) {
  if (text.size() > kCdiBytesMax) {
    return InvalidArgument("", source + " has more than " + std::to_string(kCdiBytesMax) + " bytes", "split it");
  }
  CdiSpec spec;
  std::string version;
  const auto is_known = [](const std::string& word) {
    return std::find(std::begin(kVersions), std::end(kVersions), word) != std::end(kVersions);
  };
  const Take take_device = [&](const Node& item, const std::string& path) { return TakeDevice(item, path, &spec); };
  const yaml::Fields fields = {
      {"cdiVersion", IntoOneOf(&version, is_known, "this agent knows 0.3.0 to 0.8.0, and 1.0.0")},
      {"kind", IntoOneOf(&spec.kind, IsKind, "write it like nvidia.com/gpu")},
      {"annotations", Ignored()},
      {"containerEdits", IntoEdits(&spec.edits)},
      {"devices", Each(kCdiDevicesMax, take_device)}};
  if (Status status = yaml::ReadText(std::string(text), source, fields); !status.ok()) return status;
  for (const auto& [key, value] : {std::pair("cdiVersion", &version), std::pair("kind", &spec.kind)}) {
    if (value->empty()) return InvalidArgument(key, source + ": " + key + " is missing", "say it");
  }
  if (spec.devices.empty()) return InvalidArgument("devices", source + ": there are no devices", "name at least one");
  return spec;
}

std::optional<CdiName> ParseCdiName(const std::string& text) {
  const std::size_t equal = text.find('=');
  if (equal == std::string::npos) return std::nullopt;
  CdiName name{text.substr(0, equal), text.substr(equal + 1)};
  if (!IsKind(name.kind) || !IsDevice(name.device)) return std::nullopt;
  return name;
}

}  // namespace glim::nodeagent
