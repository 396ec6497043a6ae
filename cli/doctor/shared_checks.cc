#include "cli/doctor/shared_checks.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "cli/text/text.h"
#include "sdk/base/size_text.h"

namespace glim::cli::doctor {
namespace {

constexpr Duration kSystemctlMax = Seconds(2);
constexpr std::uint64_t kRoomLeast = std::uint64_t{256} << 20;  // below it something is refused soon
constexpr std::uint64_t kInodesLeast = 1000;

// The value in "key=value" lines.
std::string ValueOf(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key + "=")) return line.substr(key.size() + 1);
  }
  return "";
}

// The second of the two numbers of a line of /proc/PID/limits.
std::int64_t HardLimit(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return -1;
  std::istringstream words(text.substr(at + name.size(), text.find('\n', at) - at - name.size()));
  std::string soft, hard;
  words >> soft >> hard;
  std::int64_t value = -1;
  std::from_chars(hard.data(), hard.data() + hard.size(), value);
  return value;
}

// What is short there; empty: nothing.
std::string ShortageOf(const NamedRoom& room, bool* fault) {
  const RoomFacts& facts = room.facts;
  if (facts.error != 0) return fmt::format("{}: {}", room.path, std::strerror(facts.error));
  const bool few_bytes = facts.bytes_free < kRoomLeast;
  const bool few_inodes = facts.inodes > 0 && facts.inodes_free < kInodesLeast;
  *fault = *fault || few_bytes || few_inodes;
  if (few_bytes || facts.bytes_free < facts.bytes / 20) {
    return fmt::format("{} has {} of {} left", room.path, RoundedSizeText(facts.bytes_free),
                       RoundedSizeText(facts.bytes));
  }
  if (few_inodes || (facts.inodes > 0 && facts.inodes_free < facts.inodes / 20)) {
    return fmt::format("{} has {} inodes of {} left", room.path, facts.inodes_free, facts.inodes);
  }
  return "";
}

}  // namespace

ProgramSettings ParseSettings(const std::string& text) {
  ProgramSettings settings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) settings[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return settings;
}

std::string Setting(const ProgramSettings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? "" : found->second;
}

bool SaysYes(const ProgramSettings& settings, const std::string& key) { return Setting(settings, key) == "yes"; }

Outcome JudgeSettings(const std::string& name, const SettingsFacts& facts) {
  if (facts.program.empty()) {
    return Fault(fmt::format("there is no program {} on this machine", name),
                 "install Glim's programs in one folder; put glim there, too");
  }
  if (!facts.end.started) return Fault(facts.program + " cannot be started", "install it again");
  if (!facts.end.in_time) return Fault(facts.program + " settings did not end in time", "see what storage hangs");
  const std::string source = facts.source.empty() ? "its options" : facts.source;
  if (facts.end.code == 0 && facts.source.empty()) {
    return Warning(fmt::format("{} has no configuration file: its defaults were looked at", name),
                   "write the file in /etc/glim, or name it with --config");
  }
  if (facts.end.code == 0) return Good(fmt::format("{}, as {} reads it", source, facts.program));
  const std::string why = Shorten(Escaped(Trimmed(facts.end.err)), 400);
  return Fault(why.empty() ? fmt::format("{} refuses {}", facts.program, source) : why,
               fmt::format("mend {}, then start {} again", source, name));
}

std::string FindGlimProgram(const std::string& name) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> paths;
  if (!error) paths.push_back((own.parent_path() / name).string());
  for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/usr/local/sbin/", "/usr/sbin/"}) {
    paths.push_back(folder + name);
  }
  return FirstProgram(Machine(), paths);
}

Outcome JudgePorts(const std::string& owner, const std::vector<NamedPort>& ports) {
  std::string seen;
  for (const NamedPort& port : ports) {
    const bool others = port.facts.taken && !port.facts.program.empty() && port.facts.program != owner.substr(0, 15);
    if (others) {
      return Fault(fmt::format("{}: {} listens at port {}", port.key, Escaped(port.facts.program), port.port),
                   fmt::format("end that program, or give {} another port", port.key));
    }
    const std::string who = port.facts.program.empty() ? "taken; by whom only root can tell" : "its own";
    seen += fmt::format("{}{} {} {}", seen.empty() ? "" : ", ", port.key, port.port, port.facts.taken ? who : "free");
  }
  return Good(seen.empty() ? "it names no fixed port" : seen);
}

std::vector<NamedPort> ReadPorts(const Machine& machine, const ProgramSettings& settings,
                                 const std::vector<std::string>& keys) {
  std::vector<NamedPort> ports;
  for (const std::string& key : keys) {
    const std::uint16_t port = PortOf(Setting(settings, key));
    if (port != 0) ports.push_back({key, port, WhoListens(machine, port)});
  }
  return ports;
}

Outcome JudgeRooms(const std::vector<NamedRoom>& rooms) {
  std::string seen, short_of;
  bool fault = false;
  for (const NamedRoom& room : rooms) {
    const std::string shortage = ShortageOf(room, &fault);
    if (!shortage.empty()) short_of += (short_of.empty() ? "" : "; ") + shortage;
    seen +=
        fmt::format("{}{} has {} free", seen.empty() ? "" : ", ", room.path, RoundedSizeText(room.facts.bytes_free));
  }
  if (short_of.empty()) return Good(seen);
  const bool unseen = std::any_of(rooms.begin(), rooms.end(), [](const auto& room) { return room.facts.error != 0; });
  const char* const fix = unseen && !fault
                              ? "see that the folder is there, is mounted, and that who runs this may look into it"
                              : "make room: old logs and saves first; docs/operations/node.md says what bounds them";
  return fault ? Fault(short_of, fix) : Warning(short_of, fix);
}

Limits ParseLimits(const std::string& text) {
  return {!text.empty(), HardLimit(text, "Max open files"), HardLimit(text, "Max locked memory")};
}

Limits ReadLimitsOf(const Machine& machine, const std::string& program) {
  for (const std::string& process : machine.Names("/proc")) {
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    if (machine.Line("/proc/" + process + "/comm") != program.substr(0, 15)) continue;
    const Limits limits = ParseLimits(machine.Text("/proc/" + process + "/limits"));
    if (limits.found) return limits;
  }
  return {};
}

Outcome JudgeDescriptors(const std::string& program, const Limits& limits, std::int64_t wanted) {
  if (!limits.found) return Skipped(program + " does not run: its limits are known when it does");
  if (limits.open_files_hard < 0) return Good("no limit");
  const std::string seen = fmt::format("{} may have {} open", program, limits.open_files_hard);
  if (limits.open_files_hard >= wanted) return Good(seen);
  return Warning(seen, fmt::format("LimitNOFILE={} in its unit, or `ulimit -Hn` before it starts", wanted));
}

UnitFacts ParseUnit(const std::string& name, const std::string& shown, bool must_run) {
  return {name,
          ValueOf(shown, "LoadState") == "loaded",
          ValueOf(shown, "ActiveState"),
          ValueOf(shown, "UnitFileState"),
          ValueOf(shown, "Result"),
          must_run};
}

bool SystemdRuns(const Machine& machine) { return machine.Look("/run/systemd/system").folder; }

UnitFacts AskUnit(const std::string& name, bool must_run) {
  const std::string systemctl = FirstProgram(Machine(), {"/usr/bin/systemctl", "/bin/systemctl"});
  if (systemctl.empty()) return {name, false, "", "", "", must_run};
  const ProgramEnd end =
      RunProgram({systemctl, "show", "-p", "LoadState,ActiveState,UnitFileState,Result", name}, kSystemctlMax);
  return ParseUnit(name, end.out, must_run);
}

Outcome JudgeUnits(bool runs, const std::vector<UnitFacts>& units) {
  if (!runs) return Skipped("systemd does not run this machine");
  std::string seen, warning, fix;
  for (const UnitFacts& unit : units) {
    const std::string state = unit.known ? unit.active + ", " + unit.enabled : "not installed";
    seen += fmt::format("{}{}: {}", seen.empty() ? "" : "; ", unit.name, state);
    if (unit.active == "failed") {
      return Fault(
          fmt::format("{} has failed ({})", unit.name, unit.result),
          fmt::format("`journalctl -u {} -n 50` says why; mend it, then `systemctl restart {}`", unit.name, unit.name));
    }
    if (!unit.must_run) continue;
    if (unit.known && unit.active != "active" && unit.active != "activating") {
      return Fault(fmt::format("{} does not run ({})", unit.name, unit.active),
                   fmt::format("systemctl enable --now {}", unit.name));
    }
    if (!unit.known || (unit.enabled != "enabled" && unit.enabled != "static")) {
      warning = unit.known ? unit.name + " is not enabled: it is gone after a boot" : unit.name + " is not installed";
      fix = unit.known ? "systemctl enable " + unit.name : "install Glim's units, or start it by means of your own";
    }
  }
  return warning.empty() ? Good(seen) : Warning(warning, fix);
}

std::optional<std::vector<int>> VersionIn(const std::string& text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto begin = std::find_if(text.begin(), text.end(), digit);
  if (begin == text.end()) return std::nullopt;
  std::vector<int> numbers;
  for (const char* at = &*begin; numbers.size() < 3;) {
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    if (next == end || *next != '.') break;
    at = next + 1;
  }
  numbers.resize(3);
  return numbers;
}

}  // namespace glim::cli::doctor
