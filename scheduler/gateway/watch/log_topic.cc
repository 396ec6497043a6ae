#include "scheduler/gateway/watch/log_topic.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "proto/json/message_json.h"
#include "scheduler/gateway/watch/frames.h"

namespace glim::gateway {
namespace {

constexpr std::size_t kGatheredMax = std::size_t{256} << 10;  // of one frame

}  // namespace

void LogTopic::Start() {
  v1::StreamLogRequest request;
  request.set_job_id(place_.job);
  request.set_rank(place_.rank);
  request.set_attempt(place_.attempt);
  request.set_offset(place_.offset);
  request.set_follow(true);
  auto told = [self = shared_from_this()](const google::protobuf::Message* message, const Status& end) {
    if (message == nullptr) {
      boost::asio::post(*self->io_, [self, end] { self->Ended(end); });
      return;
    }
    v1::StreamLogResponse piece;
    piece.CopyFrom(*message);
    boost::asio::post(*self->io_, [self, piece = std::move(piece)] { self->Came(piece); });
  };
  stream_ = open_ ? open_(request, std::move(told)) : nullptr;
  if (!stream_) Ended(Status(StatusCode::kUnavailable, "the scheduler is stopping"));
}

void LogTopic::Cancel() {
  cancelled_ = true;
  if (stream_ && !over_) stream_->Cancel();
}

void LogTopic::Came(const v1::StreamLogResponse& piece) {
  if (cancelled_ || !stream_) return;
  if (piece.data().empty() && piece.kept_of_node().empty()) {  // it says where the log ends, which is no news
    stream_->Next();
    return;
  }
  const bool joins = any_ &&
                     gathered_.offset() + static_cast<std::int64_t>(gathered_.data().size()) == piece.offset() &&
                     gathered_.attempt() == piece.attempt() && gathered_.kept_of_node() == piece.kept_of_node();
  if (joins) {
    gathered_.mutable_data()->append(piece.data());
  } else {
    Word();  // a part is missing between the two: each is a frame
    gathered_ = piece;
    gathered_.clear_log_begin();
    gathered_.clear_log_end();
    any_ = true;
  }
  waiting_ = gathered_.data().size() + ready_.size() >= kGatheredMax;
  if (!waiting_) stream_->Next();
}

void LogTopic::Word() {
  if (!std::exchange(any_, false)) return;
  proto::Json json = proto::NewDocument();
  const proto::Json fields = proto::MessageJson(gathered_);
  for (const auto& [key, value] : fields.items()) json[key] = value;
  ready_ += EventText(Name(), OneLine(json));
  place_.attempt = gathered_.attempt();
  place_.offset = gathered_.offset() + static_cast<std::int64_t>(gathered_.data().size());
  gathered_.Clear();
}

std::string LogTopic::Name() const { return NameOf({TopicKind::kLog, place_.job, place_.rank}); }

void LogTopic::Ended(const Status& status) {
  over_ = true;
  end_ = status;
}

bool LogTopic::Take(std::string* text) {
  Word();
  if (over_ && !end_told_) {
    end_told_ = true;
    proto::Json json = proto::NewDocument();
    json["end"] = {{"reason", end_.reason()}, {"message", end_.message()}, {"fix", end_.fix()}};
    ready_ += EventText(Name(), OneLine(json));
  }
  const bool any = !ready_.empty();
  *text += std::exchange(ready_, {});
  if (std::exchange(waiting_, false) && !over_) stream_->Next();
  return any;
}

}  // namespace glim::gateway
