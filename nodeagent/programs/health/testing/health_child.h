// For tests: the real glim-health over a folder that stands for the machine, and what it says.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "nodeagent/health/wire/health_line.h"
#include "sdk/base/testing/waits.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent::health {

class HealthChild {
 public:
  HealthChild();
  ~HealthChild();
  HealthChild(const HealthChild&) = delete;
  HealthChild& operator=(const HealthChild&) = delete;

  // Files below the folder that stands for /; folders are made.
  void Put(const std::string& path, const std::string& text) const;
  std::string Root() const { return folder_.path() + "/root"; }
  std::string Folder() const { return folder_.path(); }
  // What the kernel's log says next. It is a file, or a pipe once MakePipe was called.
  void Say(const std::string& text, int facility = 0);
  void MakePipe();
  // Numbers that were said, and nobody hears.
  void Skip(int records) { seq_ += records; }

  void Start(const std::vector<std::string>& more = {});
  // Ends it; returns what waitpid says.
  int End(int signal);
  pid_t pid() const { return pid_; }

  // Of this start.
  std::vector<HealthLine> Lines() const;
  // What it said to people, line by line.
  std::vector<std::string> Words() const;
  std::optional<HealthLine> Find(HealthLine::Kind kind, const std::string& check, const std::string& device) const;
  // Waits for it.
  std::optional<HealthLine> Event(const std::string& check, const std::string& device) const;
  std::optional<HealthLine> Condition(const std::string& check, const std::string& device) const;
  bool IsOver(const std::string& check, const std::string& device) const;
  // Until all has been looked at once.
  bool IsComplete() const;

 private:
  std::vector<std::string> Output() const;

  const TempFolder folder_;
  int starts_ = 0;
  int seq_ = 0;
  pid_t pid_ = 0;
};

}  // namespace glim::nodeagent::health
