#include "nodeagent/launch/hook_notes.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "nodeagent/task/sealed_file.h"
#include "nodeagent/task/task_files.h"
#include "sdk/io/folders.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kNoteBytesMax = 1 << 16;
constexpr const char* kProcessEnding = ".process";  // beside the note: who runs, once it runs

std::string HooksFolder(const std::string& state_dir) { return state_dir + "/hooks"; }

std::string NoteName(const TaskKey& key, bool prolog) { return ToString(key) + (prolog ? ".prolog" : ".epilog"); }

// False: it is no note's name.
bool ParseName(const std::string& name, HookNote* note) {
  unsigned long long job = 0;
  if (std::sscanf(name.c_str(), "%llu.%u.%u", &job, &note->key.attempt, &note->key.index) != 3) return false;
  note->key.job = job;
  note->prolog = name.ends_with(".prolog");
  return NoteName(note->key, note->prolog) == name;
}

ProcessIdentity ReadIdentity(const std::string& state_dir, const std::string& path) {
  const Result<std::string> text = ReadSealed(path, kStatusBytesMax);
  const Result<ProcessIdentity> process =
      text.ok() ? ParseProcessIdentity(*text) : Result<ProcessIdentity>(text.status());
  if (process.ok()) return *process;
  if (process.status().code() != StatusCode::kNotFound) {
    const std::string place = SetAside(state_dir, path);
    LogError("event=file_set_aside path={} now={} reason={}", Quoted(path), Quoted(place),
             Quoted(process.status().message()));
  }
  return {};
}

}  // namespace

Status WriteHookNote(const std::string& state_dir, const HookNote& note) {
  if (Status status = MakePrivateFolder(HooksFolder(state_dir)); !status.ok()) return status;
  const std::string path = HooksFolder(state_dir) + "/" + NoteName(note.key, note.prolog);
  if (note.process.pid > 0) return WriteSealed(path + kProcessEnding, ToJson(note.process), Durability::kProcess);
  return WriteFileAtomically(path, note.environment, Durability::kProcess);
}

void RemoveHookNote(const std::string& state_dir, const TaskKey& key, bool prolog) {
  std::error_code none;
  const std::string path = HooksFolder(state_dir) + "/" + NoteName(key, prolog);
  std::filesystem::remove(path, none);
  std::filesystem::remove(path + kProcessEnding, none);
}

std::vector<HookNote> ReadHookNotes(const std::string& state_dir) {
  std::vector<HookNote> notes;
  std::error_code error;
  for (std::filesystem::directory_iterator it(HooksFolder(state_dir), error), end; !error && it != end;
       it.increment(error)) {
    HookNote note;
    if (!ParseName(it->path().filename().string(), &note)) continue;
    const Result<std::string> environment = ReadFile(it->path().string(), kNoteBytesMax);
    if (environment.ok()) note.environment = *environment;
    note.process = ReadIdentity(state_dir, it->path().string() + kProcessEnding);
    notes.push_back(std::move(note));
  }
  std::sort(notes.begin(), notes.end(), [](const HookNote& a, const HookNote& b) {
    return std::pair(a.key, a.prolog) < std::pair(b.key, b.prolog);
  });
  return notes;
}

}  // namespace glim::nodeagent
