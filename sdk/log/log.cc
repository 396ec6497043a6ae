#include "sdk/log/log.h"

#include <string>
#include <utility>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "sdk/base/printable.h"

namespace glim {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kCritical: return spdlog::level::critical;
  }
  return spdlog::level::critical;
}

}  // namespace

Status CheckLogLevel(const std::string& level) {
  if (spdlog::level::from_str(level) != spdlog::level::off || level == "off") return Status::Ok();
  return InvalidArgument("", "'" + Printable(level) + "' is not a level",
                         "use trace, debug, info, warning, error, critical or off");
}

void StartLog(const std::string& pattern, const std::string& level) {
  auto logger = spdlog::stderr_logger_mt("glim");
  logger->set_pattern(pattern);
  logger->set_level(CheckLogLevel(level).ok() ? spdlog::level::from_str(level) : spdlog::level::info);
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void WriteLog(LogLevel level, fmt::string_view text, fmt::format_args args) {
  spdlog::logger* const logger = spdlog::default_logger_raw();
  if (!logger->should_log(ToSpdlog(level))) return;
  const std::string line = fmt::vformat(text, args);
  logger->log(ToSpdlog(level), spdlog::string_view_t(line));
}

}  // namespace glim
