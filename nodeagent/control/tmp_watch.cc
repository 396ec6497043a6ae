#include "nodeagent/control/tmp_watch.h"

#include <chrono>
#include <optional>

namespace glim::nodeagent {
namespace {

constexpr std::chrono::seconds kAgain{5};
constexpr std::chrono::seconds kLookLimit{60};

}  // namespace

TmpWatch::TmpWatch(boost::asio::io_context& io, std::int64_t bytes_max, Hooks hooks)
    : io_(io), bytes_max_(bytes_max), hooks_(std::move(hooks)), timer_(io) {}

void TmpWatch::Start() {
  if (bytes_max_ > 0) Look();
}

void TmpWatch::Stop() {
  timer_.cancel();
  look_.reset();
}

void TmpWatch::Look() {
  timer_.expires_after(kAgain);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    look_ = std::make_unique<ApartCall<Sizes>>(
        io_,
        [folders = hooks_.folders()] {
          Sizes sizes;
          for (const auto& [key, folder] : folders) sizes.emplace_back(key, BytesIn(folder));
          return sizes;
        },
        kLookLimit,
        [this](const std::optional<Sizes>& sizes) {
          if (sizes) OnLooked(*sizes);
          Look();
        });
  });
}

void TmpWatch::OnLooked(const Sizes& sizes) {
  for (const auto& [key, size] : sizes) {
    if (size.bytes <= bytes_max_ && size.uncounted.empty()) continue;
    hooks_.over(key, "its /tmp holds " + BytesText(size) + ", and this node allows " + BytesText(bytes_max_) +
                         " (tmp_bytes): write what is large to a folder of your own");
  }
}

}  // namespace glim::nodeagent
