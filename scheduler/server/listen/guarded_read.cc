#include "scheduler/server/listen/guarded_read.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "scheduler/server/listen/frame_guard.h"
#include "scheduler/server/listen/open_connections.h"
#include "sdk/log/log.h"
#include "sdk/threads/hand_over.h"

namespace glim::server {
namespace {

constexpr Duration kTellOfGuardsEvery = Seconds(10);

std::atomic<bool> guarded{false};

void FreeGuard(void* /*of*/, void* guard, CRYPTO_EX_DATA* /*all*/, int /*index*/, long /*number*/, void* /*pointer*/) {
  if (guard == nullptr) return;
  TakeOver(guard);
  delete static_cast<FrameGuard*>(guard);
}

// Where a connection of OpenSSL's has its guard.
int GuardsIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeGuard);
  return index;
}

// gRPC's servers alone agree on a protocol with their clients: HTTP/2, by this name or by one of gRPC's own. gRPC reads
// a connection by one thread at a time.
FrameGuard* GuardOf(SSL* ssl) {
  if (SSL_is_server(ssl) == 0) return nullptr;
  if (void* const found = SSL_get_ex_data(ssl, GuardsIndex())) return static_cast<FrameGuard*>(found);
  const unsigned char* spoken = nullptr;
  unsigned int length = 0;
  SSL_get0_alpn_selected(ssl, &spoken, &length);
  if (length == 0) return nullptr;
  auto* const made = new FrameGuard;
  HandOver(made);
  if (SSL_set_ex_data(ssl, GuardsIndex(), made) != 1) {
    delete made;
    return nullptr;
  }
  guarded = true;
  return made;
}

void TellOfFault(std::string_view fault) {
  static std::mutex mutex;
  static TimePoint told_at;
  static std::size_t ended = 0;  // since then
  const std::lock_guard lock(mutex);
  ++ended;
  const TimePoint now = SteadyNow();
  if (told_at && now - told_at < kTellOfGuardsEvery) return;
  told_at = now;
  LogWarning("hung up on who sends what no client sends why=\"{}\" connections_ended={}", fault,
             std::exchange(ended, 0));
}

}  // namespace

bool ReadsAreGuarded() { return guarded; }

}  // namespace glim::server

// In place of OpenSSL's for all libraries of this process: what a program defines is found first.
extern "C" __attribute__((visibility("default"))) int SSL_read(SSL* ssl, void* buffer, int size) {
  using Read = int (*)(SSL*, void*, int);
  static const auto openssls = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "SSL_read"));
  const int read = openssls(ssl, buffer, size);
  glim::server::FrameGuard* const guard = read > 0 ? glim::server::GuardOf(ssl) : nullptr;
  if (guard == nullptr) return read;
  glim::TakeOver(guard);
  const bool was_well = guard->fault().empty();
  const std::string_view fault =
      guard->Take({static_cast<const char*>(buffer), static_cast<std::size_t>(read)}, glim::server::SteadyNow());
  glim::HandOver(guard);
  if (fault.empty()) return read;
  if (was_well) glim::server::TellOfFault(fault);
  ERR_raise_data(ERR_LIB_SSL, SSL_R_EXCESSIVE_MESSAGE_SIZE, "%s", std::string(fault).c_str());  // so it is no end
  return -1;
}
