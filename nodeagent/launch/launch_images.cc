#include "nodeagent/launch/launch_images.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <utility>

#include "nodeagent/images/image_folder.h"
#include "nodeagent/launch/node_folders.h"
#include "sdk/io/folders.h"
#include "sdk/io/read_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::chrono::milliseconds kLookPause{500};
constexpr std::size_t kNumberBytesMax = 32;
// Of one image, whatever its size: a registry that gives a byte a minute does not keep a node for ever.
constexpr std::chrono::hours kLimit{2};

std::string ProgressFile(const AgentOptions& options, const TaskKey& key) {
  return ImageFolderOf(options) + "/" + ToString(key) + ".progress";
}

ImageAnswer NotHere(const std::string& why) { return NoImage(Status(StatusCode::kUnavailable, why)); }

ImageAnswer AnswerIn(const ChildWork::Outcome& outcome) {
  if (!outcome.in_time) return NotHere("the image was not here within " + std::to_string(kLimit.count()) + " hours");
  Result<ImageAnswer> answer = ParseImageAnswer(outcome.output);
  return answer.ok() ? std::move(*answer) : NotHere("the image is not here: glim-image ended " + outcome.end);
}

}  // namespace

LaunchImages::LaunchImages(boost::asio::io_context& io, const AgentOptions& options, std::function<void()> progress,
                           Done done)
    : io_(io), options_(options), progress_(std::move(progress)), done_(std::move(done)), timer_(io), children_(io) {}

void LaunchImages::Start() { ImageFolder(ImageFolderOf(options_)).SweepAll(); }

void LaunchImages::Stop() {
  stopped_ = true;
  timer_.cancel();
  children_.Stop();
  waits_.clear();
}

void LaunchImages::Begin(const TaskKey& key, const TaskUser& user, const std::string& image, const std::string& real) {
  LogInfo("event=image_wanted task={} image={}", ToString(key), Quoted(image));
  Wait& wait = waits_[key];
  ImageOrder order;
  order.image = image;
  order.real = real;
  order.rules = {options_.mount_allow, options_.state_dir, user};
  order.folder = ImageFolderOf(options_);
  order.progress = ProgressFile(options_, key);
  order.registries = options_.image_registries;
  order.bounds.folder_bytes = static_cast<std::uint64_t>(options_.images_bytes_max);
  order.bounds.unpacked_bytes = static_cast<std::uint64_t>(options_.image_bytes_max);
  if (Status status = MakePrivateFolder(order.folder); !status.ok()) return EndLater(key, {NoImage(status)});
  Start();  // of an import that was cancelled, too
  const Result<ChildWork::Id> child =
      children_.Start({BesideShim(options_, "glim-image")}, ToJson(order), kLimit,
                      [this, key](const ChildWork::Outcome& outcome) { End(key, {AnswerIn(outcome)}); });
  if (!child.ok()) return EndLater(key, {NoImage(child.status())});
  wait.child = *child;
  Watch();
}

void LaunchImages::Cancel(const TaskKey& key) {
  const auto it = waits_.find(key);
  if (it == waits_.end() || it->second.over) return;
  children_.Cancel(it->second.child);
  EndLater(key, {{}, true});
}

void LaunchImages::EndLater(const TaskKey& key, ImageOutcome outcome) {
  boost::asio::post(io_, [this, key, outcome = std::move(outcome)] { End(key, outcome); });
}

void LaunchImages::End(const TaskKey& key, const ImageOutcome& outcome) {
  const auto it = waits_.find(key);
  if (stopped_ || it == waits_.end() || std::exchange(it->second.over, true)) return;
  ::unlink(ProgressFile(options_, key).c_str());
  if (!outcome.stopped && outcome.answer.message.empty()) {
    LogInfo("event=image_here task={} bytes={}", ToString(key), outcome.answer.facts.bytes);
  } else if (!outcome.stopped) {
    LogError("event=image_missing task={} error={}", ToString(key), Quoted(outcome.answer.message));
  }
  done_(key, outcome);
}

// While an image is imported, the scheduler hears how far that has got.
void LaunchImages::Watch() {
  timer_.expires_after(kLookPause);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    bool grown = false, waiting = false;
    for (auto& [key, wait] : waits_) {
      if (wait.over) continue;
      waiting = true;
      const Result<std::string> text = ReadFile(ProgressFile(options_, key), kNumberBytesMax);
      const std::uint64_t bytes = text.ok() ? std::strtoull(text->c_str(), nullptr, 10) : 0;
      grown = grown || bytes > wait.bytes;
      wait.bytes = std::max(wait.bytes, bytes);
    }
    if (grown) progress_();
    if (waiting) Watch();
  });
}

void LaunchImages::Report(const TaskKey& key, v1::ObservedTask* task) const {
  const auto it = waits_.find(key);
  if (it != waits_.end()) task->set_image_bytes(static_cast<std::int64_t>(it->second.bytes));
}

}  // namespace glim::nodeagent
