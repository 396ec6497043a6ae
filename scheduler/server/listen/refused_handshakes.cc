#include "scheduler/server/listen/refused_handshakes.h"

#include <grpc/support/log.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace glim::server {
namespace {

std::atomic<std::uint64_t> no_certificate{0};
std::atomic<std::uint64_t> bad_certificate{0};
std::atomic<bool> shows_all{false};

// "Handshake failed with fatal error SSL_ERROR_SSL: error:0A0000C7:SSL routines::peer did not return a certificate."
void Hear(gpr_log_func_args* line) {
  const std::string_view text = line->message;
  if (line->severity == GPR_LOG_SEVERITY_ERROR && text.starts_with("Handshake failed")) {
    if (text.find("peer did not return a certificate") != std::string_view::npos) ++no_certificate;
    if (text.find("certificate verify failed") != std::string_view::npos) ++bad_certificate;
  }
  if (shows_all) std::fprintf(stderr, "grpc: %s:%d: %s\n", line->file, line->line, line->message);
}

}  // namespace

void CountRefusedHandshakes() {
  const char* const asked = std::getenv("GRPC_VERBOSITY");
  shows_all = asked != nullptr && std::string_view(asked) != "NONE" && std::string_view(asked) != "none";
  gpr_set_log_function(&Hear);
  // With NONE, or with nothing, gRPC would not call it at all.
  if (!shows_all) gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
}

RefusedHandshakes CountedHandshakes() { return {no_certificate, bad_certificate}; }

std::optional<std::string> HandshakeWatch::Tell(const RefusedHandshakes& counted, TimePoint now) {
  if (counted == told_ || (told_at_ && now - told_at_ < kPause)) return std::nullopt;
  const std::uint64_t none = counted.no_certificate - told_.no_certificate;
  const std::uint64_t bad = counted.bad_certificate - told_.bad_certificate;
  std::string words;
  if (none > 0) words = std::to_string(none) + " without a certificate";
  if (bad > 0) words += (words.empty() ? "" : ", ") + std::to_string(bad) + " with one that does not count";
  told_ = counted;
  told_at_ = now;
  return words;
}

}  // namespace glim::server
