#include "sdk/net/ucx/worker.h"

#include <poll.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "sdk/io/read_file.h"
#include "sdk/net/rdma.h"

namespace glim::net::ucx {
namespace {

bool UsesTcp(const std::string& tls) {
  return tls == "all" || tls.starts_with("^") || tls.find("tcp") != std::string::npos;
}

ucp_err_handling_mode_t ErrorModeOf(const std::string& tls) {
  std::istringstream names(tls);
  for (std::string name; std::getline(names, name, ',');) {
    if (name != "shm" && name != "sm" && name != "posix" && name != "sysv" && name != "cma" && name != "self") {
      return UCP_ERR_HANDLING_MODE_PEER;
    }
  }
  return UCP_ERR_HANDLING_MODE_NONE;
}

// Behind a '^' is what is left out.
bool MayNameVerbs(const std::string& tls) { return tls == "all" || tls.starts_with("^") || NamesVerbs(tls); }

// What UCX 1.13 registers for its own queues over rc, and some room: 40 MB to receive, 21 MB for datagrams, 12 to send.
constexpr std::uint64_t kLockedBytes = std::uint64_t{96} << 20;
constexpr int kOpensMax = 10;

// Whom this capability lets lock as much as there is.
bool HasIpcLock() {
  constexpr int kCapIpcLock = 14;
  const Result<std::string> status = ReadFile("/proc/self/status", 64 << 10);
  const std::size_t at = status.ok() ? status->find("CapEff:") : std::string::npos;
  if (at == std::string::npos) return false;
  return (std::strtoull(status->c_str() + at + 7, nullptr, 16) >> kCapIpcLock & 1U) != 0;
}

bool MayLockEnough() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return true;
  return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kLockedBytes || HasIpcLock();
}

// UCX 1.13 tries for ever to register the queues of verbs, with an error on its log each time, where it may lock less.
// So that is found out before.
Status LeaveOutWhatCannotLock(std::string& tls) {
  if (MayLockEnough()) return Status::Ok();
  if (NamesVerbs(tls) && !tls.starts_with("^")) {
    return Status(StatusCode::kResourceExhausted,
                  "verbs need " + std::to_string(kLockedBytes) + " bytes of locked memory; " + LockedMemoryText())
        .WithFix("raise it: ulimit -l unlimited, LimitMEMLOCK=infinity in the unit of what starts the process");
  }
  tls = tls == "all" ? "^ib" : tls + ",ib";
  return Status::Ok();
}

}  // namespace

std::string LockedMemoryText() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "RLIMIT_MEMLOCK is not known";
  const std::string bytes = limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur) + " bytes";
  return "RLIMIT_MEMLOCK of this process is " + bytes;
}

Status Failure(const std::string& what, ucs_status_t status) {
  return {StatusCode::kUnavailable, what + ": " + ucs_status_string(status)};
}

Result<std::unique_ptr<Worker>> Worker::Open(const WorkerOptions& options) {
  for (int opens = 1;; ++opens) {
    ucs_status_t status = UCS_OK;
    auto opened = OpenOnce(options, &status);
    // UCX lists the machine's interfaces and then opens each: one that went away in between (containers start and end
    // on this machine) is not there at the next look.
    if (opened.ok() || status != UCS_ERR_NO_DEVICE || opens == kOpensMax) return opened;
  }
}

Result<std::unique_ptr<Worker>> Worker::OpenOnce(const WorkerOptions& asked, ucs_status_t* status_of_worker) {
  WorkerOptions options = asked;
  const UcxVariables variables = UcxVariablesOfProcess();
  if (options.tls == "all" && !variables.tls.empty()) options.tls = variables.tls;
  if (options.net_devices.empty()) options.net_devices = variables.net_devices;
  std::unique_ptr<Worker> opened(new Worker);
  opened->may_use_verbs_ = MayNameVerbs(options.tls) && !RdmaPorts(options.rdma_folder).empty();
  if (opened->may_use_verbs_) {
    const std::string all = options.tls;
    if (Status may = LeaveOutWhatCannotLock(options.tls); !may.ok()) return may;
    opened->may_use_verbs_ = options.tls == all;
  }
  ucp_config_t* config = nullptr;
  if (const ucs_status_t s = ucp_config_read(nullptr, nullptr, &config); s != UCS_OK) return Failure("UCX", s);
  // UCX's own segments of 8 KiB cost its tcp three quarters of the rate. Keys go without the transport's name:
  // ucp_config_modify takes "TCP_TX_SEG_SIZE" too, but applies it to nothing (docs/decisions/0013-hfreduce.md).
  const std::string segment = UsesTcp(options.tls) ? "256k" : "";
  const std::pair<const char*, const std::string> settings[] = {
      {"TLS", options.tls},
      {"NET_DEVICES", options.net_devices},
      {"TX_SEG_SIZE", segment},
      {"RX_SEG_SIZE", segment},
      {"IB_SL", options.service_level < 0 ? std::string() : std::to_string(options.service_level)},
  };
  ucs_status_t status = UCS_OK;
  for (const auto& [name, value] : settings) {
    if (status == UCS_OK && !value.empty()) status = ucp_config_modify(config, name, value.c_str());
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
  if (options.active_messages) params.features |= UCP_FEATURE_AM;
  if (status == UCS_OK) status = ucp_init(&params, config, &opened->context_);
  ucp_config_release(config);
  if (status != UCS_OK) {
    const std::string where = options.net_devices.empty() ? "" : " on " + options.net_devices;
    return Failure("UCX cannot use '" + options.tls + "'" + where, status);
  }
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucp_worker_create(opened->context_, &worker, &opened->worker_);
  *status_of_worker = status;
  if (status != UCS_OK) return Failure("no UCX worker (" + LockedMemoryText() + ")", status);
  opened->error_mode_ = ErrorModeOf(options.tls);
  status = ucp_worker_get_efd(opened->worker_, &opened->event_descriptor_);
  if (status != UCS_OK) return Failure("UCX cannot wait", status);
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  status = ucp_worker_get_address(opened->worker_, &address, &bytes);
  if (status != UCS_OK) return Failure("no UCX address", status);
  opened->address_.assign(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(opened->worker_, address);
  return opened;
}

Worker::~Worker() {
  if (abandoned_) return;
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Status Worker::Await(ucs_status_ptr_t request, Duration at_most, const std::string& what) {
  if (request == nullptr) return Status::Ok();
  if (UCS_PTR_IS_ERR(request)) return Failure(what, UCS_PTR_STATUS(request));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(at_most.ms);
  while (ucp_request_check_status(request) == UCS_INPROGRESS) {
    if (Progress()) continue;
    if (std::chrono::steady_clock::now() >= deadline) {
      return {StatusCode::kDeadlineExceeded, what + ": not done within " + std::to_string(at_most.ms) + " ms"};
    }
    pollfd waiting{event_descriptor_, POLLIN, 0};
    if (Arm()) ::poll(&waiting, 1, 1);
  }
  const ucs_status_t status = ucp_request_check_status(request);
  ucp_request_free(request);
  return status == UCS_OK ? Status::Ok() : Failure(what, status);
}

}  // namespace glim::net::ucx
