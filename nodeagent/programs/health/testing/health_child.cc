#include "nodeagent/programs/health/testing/health_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "nodeagent/os/run_program.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::size_t kOutputBytesMax = 16 << 20;
constexpr const char* kWords = "glim-health: ";  // to standard error, which is the same file here

}  // namespace

HealthChild::HealthChild() {
  Put("proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
  std::ofstream(Folder() + "/kmsg");
}

HealthChild::~HealthChild() {
  if (pid_ > 0) End(SIGKILL);
}

void HealthChild::Put(const std::string& path, const std::string& text) const {
  const std::string whole = Root() + "/" + path;
  std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
  std::ofstream(whole) << text;
}

void HealthChild::MakePipe() {
  std::filesystem::remove(Folder() + "/kmsg");
  ASSERT_EQ(::mkfifo((Folder() + "/kmsg").c_str(), 0600), 0);
}

void HealthChild::Say(const std::string& text, int facility) {
  const UniqueFd log(::open((Folder() + "/kmsg").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string record =
      std::to_string(facility * 8 + 4) + "," + std::to_string(++seq_) + ",1000000,-;" + text + "\n";
  ASSERT_EQ(::write(log.get(), record.data(), record.size()), static_cast<ssize_t>(record.size()));
}

void HealthChild::Start(const std::vector<std::string>& more) {
  std::vector<std::string> words = {BuiltFile("bin/glim-health"),
                                    "--kmsg",
                                    Folder() + "/kmsg",
                                    "--root",
                                    Root(),
                                    "--state",
                                    Folder() + "/health.json",
                                    "--hurry",
                                    "10"};
  words.insert(words.end(), more.begin(), more.end());
  const Result<pid_t> pid = StartProgram(words, {}, Folder() + "/lines." + std::to_string(++starts_));
  ASSERT_TRUE(pid.ok());
  pid_ = *pid;
}

int HealthChild::End(int signal) {
  ::kill(pid_, signal);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return status;
}

std::vector<std::string> HealthChild::Output() const {
  const Result<std::string> text = ReadFile(Folder() + "/lines." + std::to_string(starts_), kOutputBytesMax);
  std::vector<std::string> lines;
  if (!text.ok()) return lines;
  std::istringstream all(*text);
  for (std::string line; std::getline(all, line) && !all.eof();) lines.push_back(line);  // the last may be half written
  return lines;
}

std::vector<std::string> HealthChild::Words() const {
  std::vector<std::string> words = Output();
  std::erase_if(words, [](const std::string& line) { return !line.starts_with(kWords); });
  return words;
}

std::vector<HealthLine> HealthChild::Lines() const {
  std::vector<HealthLine> lines;
  for (const std::string& line : Output()) {
    if (line.starts_with(kWords)) continue;
    const auto parsed = ParseHealthLine(line);
    EXPECT_TRUE(parsed) << line;
    if (parsed) lines.push_back(*parsed);
  }
  return lines;
}

std::optional<HealthLine> HealthChild::Find(HealthLine::Kind kind, const std::string& check,
                                            const std::string& device) const {
  std::optional<HealthLine> found;
  for (const HealthLine& line : Lines()) {
    if (line.kind == kind && line.finding.check == check && line.finding.device == device) found = line;
  }
  return found;
}

std::optional<HealthLine> HealthChild::Event(const std::string& check, const std::string& device) const {
  Eventually([&] { return Find(HealthLine::Kind::kEvent, check, device).has_value(); });
  return Find(HealthLine::Kind::kEvent, check, device);
}

std::optional<HealthLine> HealthChild::Condition(const std::string& check, const std::string& device) const {
  Eventually([&] { return Find(HealthLine::Kind::kCondition, check, device).has_value(); });
  return Find(HealthLine::Kind::kCondition, check, device);
}

bool HealthChild::IsOver(const std::string& check, const std::string& device) const {
  return Eventually([&] { return Find(HealthLine::Kind::kConditionOver, check, device).has_value(); });
}

bool HealthChild::IsComplete() const {
  return Eventually([&] {
    for (const HealthLine& line : Lines()) {
      if (line.kind == HealthLine::Kind::kAlive && line.complete) return true;
    }
    return false;
  });
}

}  // namespace glim::nodeagent::health
