#include "scheduler/server/metrics/process_gauges.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace glim::server {
namespace {

// Field of /proc/self/stat behind the program's name, from 3 on as proc(5) counts; -1: not to be read.
double StatField(int wanted) {
  std::ifstream file("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_ends = text.rfind(')');
  if (name_ends == std::string::npos) return -1;
  std::istringstream fields(text.substr(name_ends + 1));
  std::string state;
  fields >> state;
  double value = -1;
  for (int field = 4; field <= wanted; ++field) fields >> value;
  return fields ? value : -1;
}

double SecondsSinceEpoch(std::chrono::system_clock::time_point at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

// Told by the boot's clock; as seconds since 1970 it is fixed once, or it would tremble.
double StartedAt() {
  static constexpr int kStartTime = 22;
  std::ifstream file("/proc/uptime");
  double up = 0;
  if (!(file >> up)) return -1;
  const double ticks = StatField(kStartTime);
  if (ticks < 0) return -1;
  const double age = up - ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return SecondsSinceEpoch(std::chrono::system_clock::now()) - age;
}

double OpenFiles() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end; it.increment(error)) {
    ++count;
  }
  return error ? -1 : count;
}

}  // namespace

void AddProcessFigures(Families* families) {
  static constexpr int kResidentPages = 24;
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0) {
    families->push_back(
        CounterFamily("process_cpu_seconds_total", "Processor time of the scheduler, user and system."));
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    AddValue(&families->back(), {}, seconds(used.ru_utime) + seconds(used.ru_stime));
  }
  if (const double pages = StatField(kResidentPages); pages >= 0) {
    families->push_back(OneGauge("process_resident_memory_bytes", "Memory of the scheduler that is resident.",
                                 pages * static_cast<double>(::sysconf(_SC_PAGESIZE))));
  }
  if (const double files = OpenFiles(); files >= 0) {
    families->push_back(OneGauge("process_open_fds", "Descriptors that the scheduler has open.", files));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    families->push_back(OneGauge("process_max_fds", "Descriptors that the scheduler may have open.",
                                 static_cast<double>(limit.rlim_cur)));
  }
  static const double started = StartedAt();
  if (started > 0) {
    families->push_back(
        OneGauge("process_start_time_seconds", "When the scheduler was started, in seconds since 1970.", started));
  }
}

}  // namespace glim::server
