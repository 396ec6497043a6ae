#include "nodeagent/saves/copy_note.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "nodeagent/saves/save_tree.h"
#include "sdk/io/folders.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;

constexpr std::size_t kNoteBytesMax = 64 * 1024;

class Hash {  // FNV-1a
 public:
  void Add(const std::string& text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    value_ = (value_ ^ 0xFFU) * 0x100000001b3ULL;
  }
  std::string Text() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value_));
    return digits;
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

std::string NotePath(const std::string& state_dir, const CopyName& copy) {
  Hash hash;
  hash.Add(copy.local);
  return state_dir + "/copies/" + std::to_string(copy.job) + "-" + hash.Text();
}

// Changes whenever a file comes, goes or is written to.
std::optional<std::string> LooksOf(const std::string& state_dir, const CopyName& copy) {
  const Result<UniqueFd> folder = OpenFolder(OwnCheckpointFolder(state_dir, copy.job));
  if (!folder.ok()) return std::nullopt;
  Hash hash;
  const Status status = WalkTree(folder->get(), copy.local, {}, FolderOrder::kBefore, [&](const TreeEntry& entry) {
    hash.Add(entry.path + (entry.folder ? "/" : ""));
    if (!entry.folder) hash.Add(std::to_string(entry.bytes) + " " + std::to_string(entry.modified_ns));
    return Status::Ok();
  });
  if (!status.ok()) return std::nullopt;
  return hash.Text();
}

bool Fits(const std::string& state_dir, const json& note) {
  const CopyName copy{note.at("job").get<std::uint64_t>(), note.at("local").get<std::string>(), ""};
  if (!IsLocalPath(copy.local)) return false;
  const auto looks = LooksOf(state_dir, copy);
  return looks && *looks == note.at("looks").get<std::string>();
}

}  // namespace

bool IsOurCopy(const std::string& state_dir, const CopyName& copy) {
  const Result<std::string> text = ReadFile(NotePath(state_dir, copy), kNoteBytesMax);
  if (!text.ok()) return false;
  try {
    const json note = json::parse(*text);
    return note.at("job") == copy.job && note.at("local") == copy.local && note.at("identity") == copy.identity &&
           Fits(state_dir, note);
  } catch (const json::exception&) {
    return false;
  }
}

Status NoteCopy(const std::string& state_dir, const CopyName& copy) {
  const auto looks = LooksOf(state_dir, copy);
  if (!looks) return Status(StatusCode::kAborted, "the copy of " + copy.local + " is gone again");
  if (Status status = MakeFolder(state_dir + "/copies"); !status.ok()) return status;
  const json note = {{"job", copy.job}, {"local", copy.local}, {"identity", copy.identity}, {"looks", *looks}};
  return WriteFileAtomically(NotePath(state_dir, copy), note.dump(-1, ' ', false, json::error_handler_t::replace),
                             Durability::kProcess);
}

void ForgetCopy(const std::string& state_dir, const CopyName& copy) {
  (void)::unlink(NotePath(state_dir, copy).c_str());
}

void SweepNotes(const std::string& state_dir) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(state_dir + "/copies", error), end; !error && it != end;
       it.increment(error)) {
    bool keep = false;
    const Result<std::string> text = ReadFile(it->path().string(), kNoteBytesMax);
    try {
      keep = text.ok() && Fits(state_dir, json::parse(*text));
    } catch (const json::exception&) {
      keep = false;
    }
    if (!keep) (void)::unlink(it->path().c_str());
  }
}

}  // namespace glim::nodeagent
