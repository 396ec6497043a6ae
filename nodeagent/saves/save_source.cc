#include "nodeagent/saves/save_source.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/saves/fetch_frames.h"

namespace glim::nodeagent {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{100};  // how soon a cancelled copy ends
constexpr const char* kFetchMethod = "/glim.v1.SaveApi/Fetch";
constexpr int kWindowBytes = 8 << 20;

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
  arguments.SetMaxReceiveMessageSize(kFrameBytesMax);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// One call on a queue of its own. After Await has failed only End may be called.
class FetchCall {
 public:
  FetchCall(const SaveSource& source, std::chrono::milliseconds stall, CopyProgress& progress)
      : stub_(OpenChannel(source.address)), stall_(stall), progress_(progress) {}
  ~FetchCall() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  bool Begin(const v1::FetchRequest& request) {
    call_ = stub_.PrepareCall(&context_, kFetchMethod, &queue_);
    call_->StartCall(this);
    if (!Await()) return false;
    const grpc::Slice slice(request.SerializeAsString());
    call_->WriteLast(grpc::ByteBuffer(&slice, 1), {}, this);
    return Await();
  }
  // The next message; one is always being waited for.
  void AskNext() { call_->Read(&incoming_, this); }
  bool TakeNext(grpc::ByteBuffer* message) {
    if (!Await()) return false;
    message->Swap(&incoming_);
    incoming_.Clear();
    return true;
  }

  // False: the stream is over, or has been called off; End says why.
  bool Await() {
    const auto until = steady_clock::now() + stall_;
    void* tag = nullptr;
    bool ok = false;
    for (;;) {
      const auto next = queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kLook);
      if (next == grpc::CompletionQueue::GOT_EVENT) return ok;
      const bool stalled = steady_clock::now() >= until;
      if (!stalled && !progress_.cancelled) continue;
      if (stalled) stalled_ = true;
      context_.TryCancel();
      (void)queue_.Next(&tag, &ok);
      return false;
    }
  }

  void Cancel() { context_.TryCancel(); }

  Status End() {
    grpc::Status status;
    call_->Finish(&status, this);
    void* tag = nullptr;
    bool ok = false;
    (void)queue_.Next(&tag, &ok);
    if (progress_.cancelled) return Status(StatusCode::kCancelled, "the copy was stopped");
    if (stalled_) {
      return Status(StatusCode::kDeadlineExceeded, "nothing came for " + std::to_string(stall_.count()) + " ms");
    }
    return {static_cast<StatusCode>(status.error_code()), status.error_message()};
  }

 private:
  grpc::GenericStub stub_;
  const std::chrono::milliseconds stall_;
  CopyProgress& progress_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer incoming_;
  bool stalled_ = false;
};

// Hands one message on. True when it was the last.
Result<bool> TakeFrame(const grpc::ByteBuffer& message, CopyProgress& progress, SaveWriter& writer) {
  Result<Frame> frame = ParseFrame(message);
  if (!frame.ok()) return frame.status();
  if (frame->is_data) {
    progress.bytes += static_cast<std::int64_t>(frame->data_bytes);
    writer.Data(std::move(frame->data), frame->data_bytes);
    return false;
  }
  const v1::FetchChunk& chunk = frame->chunk;
  if (chunk.has_file()) {
    writer.Begin(chunk.file().path(), chunk.file().bytes(), chunk.file().mode());
  } else if (chunk.has_end()) {
    writer.End(chunk.end().crc32c());
  } else {
    if (Status status = writer.Finish(chunk.done().files(), chunk.done().bytes()); !status.ok()) return status;
    return true;
  }
  return false;
}

}  // namespace

Status FetchFrom(const SaveSource& source, const FetchQuestion& question, std::chrono::milliseconds stall,
                 CopyProgress& progress, SaveWriter& writer) {
  v1::FetchRequest request;
  request.set_job_id(question.job);
  request.set_local(question.local);
  request.set_reader(question.reader);
  request.set_token(source.token);
  FetchCall call(source, stall, progress);
  Status failed;
  bool whole = false;
  if (call.Begin(request)) {
    call.AskNext();
    grpc::ByteBuffer message;
    while (call.TakeNext(&message)) {
      call.AskNext();  // while this one is taken in, the next one comes
      Result<bool> last = TakeFrame(message, progress, writer);
      failed = !last.ok() ? last.status() : writer.status();
      whole = last.ok() && *last;
      if (failed.ok() && !whole) continue;
      if (!whole) call.Cancel();
      while (call.Await()) call.AskNext();
      break;
    }
  }
  const Status ended = call.End();
  if (!failed.ok()) return failed;
  if (whole) return Status::Ok();
  if (!ended.ok()) return ended;
  return Status(StatusCode::kDataLoss, "the source ended before its last file");
}

}  // namespace glim::nodeagent
