#include "nodeagent/hardware/gpu_use.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace glim::nodeagent {
namespace {

using nlohmann::json;

constexpr std::size_t kPidsMax = 32;
constexpr std::size_t kPidsInWords = 8;  // of one GPU

std::string MiB(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string NameOf(const GpuUse& gpu) {
  return "GPU " + std::to_string(gpu.index) + (gpu.uuid.empty() ? "" : " (" + gpu.uuid + ")");
}

const GpuUse* Find(const NodeUse* use, const GpuUse& gpu) {
  if (use == nullptr) return nullptr;
  const auto it = std::find_if(use->gpus.begin(), use->gpus.end(), [&](const GpuUse& other) {
    return gpu.uuid.empty() ? other.index == gpu.index : other.uuid == gpu.uuid;
  });
  return it == use->gpus.end() || !it->error.empty() ? nullptr : &*it;
}

bool WasThere(const GpuUse* before, std::int64_t pid) {
  return before != nullptr && std::any_of(before->processes.begin(), before->processes.end(),
                                          [&](const GpuProcess& process) { return process.pid == pid; });
}

std::string WordsOf(const GpuUse& now, const GpuUse* before, std::vector<pid_t>* pids) {
  if (!now.error.empty()) return NameOf(now) + " does not say who uses it: " + now.error;
  std::string who;
  std::size_t count = 0;
  for (const GpuProcess& process : now.processes) {
    if (WasThere(before, process.pid)) continue;
    if (std::find(pids->begin(), pids->end(), process.pid) == pids->end() && pids->size() < kPidsMax) {
      pids->push_back(static_cast<pid_t>(process.pid));
    }
    if (++count > kPidsInWords) continue;
    who += (who.empty() ? "" : ", ") + std::to_string(process.pid);
    if (process.memory_bytes >= 0) who += " (" + MiB(process.memory_bytes) + ")";
  }
  if (count > kPidsInWords) who += " and " + std::to_string(count - kPidsInWords) + " more";
  const std::int64_t allowed = before == nullptr ? kGpuUsedUnknownBytes : before->used_bytes + kGpuSlackBytes;
  if (count == 0 && now.used_bytes <= allowed) return "";
  std::string words = NameOf(now) + ": " + MiB(now.used_bytes) + " used";
  if (before != nullptr) words += ", " + MiB(before->used_bytes) + " before the task";
  return words + (who.empty() ? ", no process is known" : ", processes " + who);
}

}  // namespace

GpuLeft LeftOnGpus(const NodeUse& now, const NodeUse* before) {
  GpuLeft left;
  if (!now.error.empty()) {
    left.evidence = "whether its GPUs are empty is not known: " + now.error;
    return left;
  }
  std::string all;
  const auto add = [&](const std::string& words) {
    if (!words.empty()) all += (all.empty() ? "" : "; ") + words;
  };
  for (const GpuUse& gpu : now.gpus) add(WordsOf(gpu, Find(before, gpu), &left.pids));
  for (const GpuUse& gpu : before == nullptr ? std::vector<GpuUse>() : before->gpus) {
    const bool is_there = std::any_of(now.gpus.begin(), now.gpus.end(), [&](const GpuUse& other) {
      return other.uuid.empty() ? other.index == gpu.index : other.uuid == gpu.uuid;
    });
    if (!is_there) add(NameOf(gpu) + " is not there any more");
  }
  if (!all.empty()) left.evidence = "its processes are gone, but its GPUs are not empty: " + all;
  return left;
}

std::string ToLine(std::uint64_t number, const NodeUse& use) {
  json gpus = json::array();
  for (const GpuUse& gpu : use.gpus) {
    json processes = json::array();
    for (const GpuProcess& process : gpu.processes) processes.push_back({process.pid, process.memory_bytes});
    gpus.push_back({{"index", gpu.index},
                    {"uuid", gpu.uuid},
                    {"error", gpu.error},
                    {"used_bytes", gpu.used_bytes},
                    {"processes", std::move(processes)}});
  }
  const json value = {{"number", number}, {"error", use.error}, {"gpus", std::move(gpus)}};
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<UseAnswer> ParseUse(const std::string& line) {
  try {
    const json value = json::parse(line);
    UseAnswer answer;
    value.at("number").get_to(answer.number);
    value.at("error").get_to(answer.use.error);
    for (const json& one : value.at("gpus")) {
      GpuUse gpu;
      one.at("index").get_to(gpu.index);
      one.at("uuid").get_to(gpu.uuid);
      one.at("error").get_to(gpu.error);
      one.at("used_bytes").get_to(gpu.used_bytes);
      for (const json& process : one.at("processes")) gpu.processes.push_back({process.at(0), process.at(1)});
      answer.use.gpus.push_back(std::move(gpu));
    }
    return answer;
  } catch (const json::exception& error) {
    return Status(StatusCode::kDataLoss, std::string("what glim-inventory said of the GPUs: ") + error.what());
  }
}

}  // namespace glim::nodeagent
