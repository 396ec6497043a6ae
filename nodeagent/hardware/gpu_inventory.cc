#include "nodeagent/hardware/gpu_inventory.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>
#include <utility>

#include "nodeagent/hardware/gpu_watch.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

std::int64_t UsedMiB(const NodeUse& use) {
  std::int64_t bytes = 0;
  for (const GpuUse& gpu : use.gpus) bytes += gpu.used_bytes;
  return bytes >> 20;
}

class UnaskedGpus final : public GpuInventory {
 public:
  UnaskedGpus(std::uint32_t count, bool simulated) : count_(count), simulated_(simulated) {}
  std::uint32_t count() const override { return count_; }
  bool simulated() const override { return simulated_; }
  std::string TaskBegins(const std::string&) override { return ""; }
  void TaskEnded(const std::string&) override {}
  std::uint64_t Ask() override { return 1; }
  GpuAnswer Left(std::uint64_t, const std::string&) const override { return GpuLeft(); }
  std::string Fault() const override { return ""; }
  void Stop() override {}

 private:
  const std::uint32_t count_;
  const bool simulated_;
};

// While no task with GPUs is here, what is on them is noted from time to time: that is what a task finds.
class AskedGpus final : public GpuInventory {
 public:
  AskedGpus(boost::asio::io_context& io, std::uint32_t count, GpuAsking asking)
      : count_(count),
        again_(asking.again),
        timer_(io),
        watch_(io, std::move(asking.command), asking.limit, asking.hangs,
               {[this](const UseAnswer& answer) { OnAnswer(answer); }, std::move(asking.changed)}) {
    boost::asio::post(io, [this] {  // never from within a call
      if (!stopped_) LookWhileIdle();
    });
  }

  std::uint32_t count() const override { return count_; }
  bool simulated() const override { return false; }

  std::string TaskBegins(const std::string& task) override {
    const bool known = tasks_.empty() && idle_;
    tasks_.insert(task);
    idle_from_ = 0;
    return known ? ToLine(0, *idle_) : "";
  }

  void TaskEnded(const std::string& task) override {
    if (tasks_.erase(task) > 0 && tasks_.empty()) LookWhileIdle();
  }

  std::uint64_t Ask() override { return watch_.Ask(); }

  GpuAnswer Left(std::uint64_t question, const std::string& before) const override {
    if (newest_.number >= question) {
      const Result<UseAnswer> known = ParseUse(before);
      return LeftOnGpus(newest_.use, known.ok() ? &known->use : nullptr);
    }
    if (watch_.trouble().empty()) return std::nullopt;
    return GpuLeft{"its processes are gone, but whether its GPUs are empty is not known: " + watch_.trouble(), {}};
  }

  std::string Fault() const override {
    if (watch_.trouble().empty()) return "";
    return watch_.trouble() +
           ": whether GPUs are free cannot be told, so no job starts here; see dmesg for Xid, then start the node anew";
  }

  void Stop() override {
    stopped_ = true;
    timer_.cancel();
    watch_.Stop();
  }

 private:
  void OnAnswer(const UseAnswer& answer) {
    newest_ = answer;
    if (idle_from_ == 0 || answer.number < idle_from_) return;
    if (!idle_) LogInfo("event=gpus_answer used_mib={} error={}", UsedMiB(answer.use), Quoted(answer.use.error));
    idle_ = answer.use;
  }

  void LookWhileIdle() {
    if (tasks_.empty()) {
      const std::uint64_t question = watch_.Ask();
      if (idle_from_ == 0) idle_from_ = question;
    }
    timer_.expires_after(again_);
    timer_.async_wait([this](boost::system::error_code error) {
      if (!error && !stopped_) LookWhileIdle();
    });
  }

  const std::uint32_t count_;
  const std::chrono::milliseconds again_;
  boost::asio::steady_timer timer_;
  std::set<std::string> tasks_;
  std::optional<NodeUse> idle_;
  std::uint64_t idle_from_ = 0;  // the first question since no task is here; 0: one is, or none was asked
  UseAnswer newest_;
  bool stopped_ = false;
  GpuWatch watch_;  // last: it calls
};

std::string ListOf(const std::vector<GpuPart>& gpus) {
  std::string list;
  for (const GpuPart& gpu : gpus) {
    list += (list.empty() ? "" : ", ") + std::to_string(gpu.index) + " " + gpu.type + " at " + gpu.pci;
  }
  return list;
}

// What is on the bus and not with the driver.
std::string UnseenOf(const Inventory& found) {
  std::string unseen;
  for (const std::string& pci : found.node.bus_gpus) {
    bool seen = false;
    for (const GpuPart& gpu : found.gpus.gpus) seen = seen || gpu.pci == pci;
    if (!seen) unseen += (unseen.empty() ? "" : ", ") + pci;
  }
  return unseen;
}

Status TooFew(std::uint32_t wanted, const Inventory& found) {
  const std::size_t count = found.gpus.gpus.size();
  std::string words = "--gpus " + std::to_string(wanted) + ": NVIDIA's driver sees " +
                      (count == 0 ? "no GPU" : std::to_string(count) + " (" + ListOf(found.gpus.gpus) + ")");
  const std::string unseen = UnseenOf(found);
  if (!unseen.empty()) words += "; on the bus is another, which it does not see: " + unseen + " (dmesg may say why)";
  const std::string fix = count == 0 ? "leave --gpus out" : "say --gpus " + std::to_string(count) + ", or leave it out";
  return InvalidArgument("--gpus", words, fix);
}

}  // namespace

Result<std::uint32_t> ChooseGpus(std::optional<std::uint32_t> wanted, bool simulated, const Inventory& found) {
  if (simulated) return wanted.value_or(0);
  if (wanted == 0u) return 0u;
  const auto on_the_bus = static_cast<std::uint32_t>(found.node.bus_gpus.size());
  if (!found.gpus.asked) return wanted.value_or(on_the_bus);
  const auto seen = static_cast<std::uint32_t>(found.gpus.gpus.size());
  if (!found.gpus.error.empty()) {
    if (!wanted && on_the_bus == 0 && seen == 0) return 0u;
    const std::string here = on_the_bus == 0   ? "no NVIDIA GPU is in this machine"
                             : on_the_bus == 1 ? "an NVIDIA GPU is in this machine"
                                               : std::to_string(on_the_bus) + " NVIDIA GPUs are in this machine";
    const std::string fix = on_the_bus == 0 && seen == 0
                                ? "leave --gpus out, or add --simulated-gpus to schedule without real ones"
                                : found.gpus.fix + "; or say --gpus 0, and this node runs jobs without GPUs";
    return InvalidArgument(
        "--gpus", (wanted ? "--gpus " + std::to_string(*wanted) + ": " : "") + here + ", and " + found.gpus.error, fix);
  }
  if (!wanted) return seen;
  if (*wanted > seen) return TooFew(*wanted, found);
  return *wanted;
}

std::unique_ptr<GpuInventory> MakeUnaskedGpus(std::uint32_t count, bool simulated) {
  return std::make_unique<UnaskedGpus>(count, simulated && count > 0);
}

std::unique_ptr<GpuInventory> MakeAskedGpus(boost::asio::io_context& io, std::uint32_t count, GpuAsking asking) {
  return std::make_unique<AskedGpus>(io, count, std::move(asking));
}

}  // namespace glim::nodeagent
