// What node and server have in common: a program's settings, ports, room, limits, units. Pure but for what is named
// Read or Ask.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/finding.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/program.h"

namespace glim::cli::doctor {

// What `glim-agent settings` and `glim-scheduler settings` print: "key: value" lines.
using ProgramSettings = std::map<std::string, std::string>;
ProgramSettings ParseSettings(const std::string& text);
// Empty: it is not said.
std::string Setting(const ProgramSettings& settings, const std::string& key);
bool SaysYes(const ProgramSettings& settings, const std::string& key);

// How `PROGRAM settings ...` went.
struct SettingsFacts {
  std::string program;  // its path; empty: it is not on this machine
  std::string source;   // the configuration's file
  ProgramEnd end;
};
Outcome JudgeSettings(const std::string& name, const SettingsFacts& facts);
// A program of Glim's: beside this one, then in the usual folders.
std::string FindGlimProgram(const std::string& name);

struct NamedPort {
  std::string key;  // of the configuration
  std::uint16_t port;
  PortFacts facts;
};
// `owner`: the program whose ports they are.
Outcome JudgePorts(const std::string& owner, const std::vector<NamedPort>& ports);
// Of these keys with an address in the settings.
std::vector<NamedPort> ReadPorts(const Machine& machine, const ProgramSettings& settings,
                                 const std::vector<std::string>& keys);

struct NamedRoom {
  std::string path;
  RoomFacts facts;
};
Outcome JudgeRooms(const std::vector<NamedRoom>& rooms);

// Of a process.
struct Limits {
  bool found = false;                 // it runs
  std::int64_t open_files_hard = -1;  // -1: no limit
  std::int64_t locked_bytes_hard = -1;
};
Limits ParseLimits(const std::string& text);  // of /proc/PID/limits
// Of the first process whose program has that name (15 letters, as the kernel keeps it).
Limits ReadLimitsOf(const Machine& machine, const std::string& program);
Outcome JudgeDescriptors(const std::string& program, const Limits& limits, std::int64_t wanted);

struct UnitFacts {
  std::string name;
  bool known = false;    // systemd has it
  std::string active;    // ActiveState
  std::string enabled;   // UnitFileState
  std::string result;    // why it ended
  bool must_run = true;  // else it is the operator's choice
};
// `runs`: systemd runs this machine.
Outcome JudgeUnits(bool runs, const std::vector<UnitFacts>& units);
UnitFacts ParseUnit(const std::string& name, const std::string& shown, bool must_run);
bool SystemdRuns(const Machine& machine);
UnitFacts AskUnit(const std::string& name, bool must_run);

// "runc version 1.1.5+ds1" is {1, 1, 5}; what is not there is 0. None: there is no number.
std::optional<std::vector<int>> VersionIn(const std::string& text);

}  // namespace glim::cli::doctor
