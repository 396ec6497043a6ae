#include "scheduler/gateway/backend.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <utility>
#include <vector>

#include "glim/v1/common.pb.h"
#include "sdk/threads/hand_over.h"

namespace glim::gateway {
namespace {

constexpr char kPackage[] = "/glim.v1.";

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return Status::Ok();
  const int code = static_cast<int>(status.error_code());
  Status out(code >= 1 && code <= 16 ? static_cast<StatusCode>(code) : StatusCode::kUnknown, status.error_message());
  v1::ErrorDetail detail;
  if (status.error_details().empty() || !detail.ParseFromString(status.error_details())) return out;
  return std::move(out).WithReason(detail.reason()).WithField(detail.field()).WithFix(detail.fix());
}

grpc::ByteBuffer BytesOf(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

bool Parse(grpc::ByteBuffer* bytes, google::protobuf::Message* message) {
  grpc::ProtoBufferReader reader(bytes);
  return reader.status().ok() && message->ParseFromZeroCopyStream(&reader);
}

Status Broken() { return {StatusCode::kInternal, "the answer does not read"}; }
Status Stopping() { return {StatusCode::kUnavailable, "the scheduler is stopping"}; }

}  // namespace

// Holds itself until it is done.
class Backend::UnaryCall {
 public:
  UnaryCall(Backend* owner, const google::protobuf::Message& request, std::unique_ptr<google::protobuf::Message> answer,
            Done done)
      : owner_(owner), request_(BytesOf(request)), answer_(std::move(answer)), done_(std::move(done)) {}

  grpc::ClientContext context;

  void Start(const std::string& method, std::shared_ptr<UnaryCall> self) {
    HandOver(this);
    owner_->stub_.UnaryCall(&context, method, grpc::StubOptions(), &request_, &bytes_,
                            [this, self = std::move(self)](grpc::Status status) {
                              TakeOver(this);
                              Ended(FromGrpc(status));
                            });
  }

 private:
  void Ended(Status status) {
    if (status.ok() && !Parse(&bytes_, answer_.get())) status = Broken();
    std::exchange(done_, nullptr)(status, std::move(answer_));
    owner_->End(this);
  }

  Backend* const owner_;
  const grpc::ByteBuffer request_;
  grpc::ByteBuffer bytes_;
  std::unique_ptr<google::protobuf::Message> answer_;
  Done done_;
};

// Holds itself from Start until OnDone.
class Backend::StreamCall final : public ReadStream,
                                  public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  StreamCall(Backend* owner, const google::protobuf::Message& request,
             std::unique_ptr<google::protobuf::Message> message, Told told)
      : owner_(owner), request_(BytesOf(request)), message_(std::move(message)), told_(std::move(told)) {}

  grpc::ClientContext context;

  void Start(const std::string& method, std::shared_ptr<StreamCall> self) {
    self_ = std::move(self);
    owner_->stub_.PrepareBidiStreamingCall(&context, method, grpc::StubOptions(), this);
    AddHold();  // Next comes from other threads than the reactor's
    StartWriteLast(&request_, grpc::WriteOptions());
    HandOver(this);
    StartRead(&bytes_);
    StartCall();
  }

  void Next() override {
    {
      const std::lock_guard lock(mutex_);
      if (released_ || std::exchange(reading_, true)) return;
    }
    HandOver(this);
    StartRead(&bytes_);
  }

  void Cancel() override {
    context.TryCancel();
    Release(false);
  }

  void OnReadDone(bool ok) override {
    TakeOver(this);
    broken_ = ok && !Parse(&bytes_, message_.get());
    if (broken_) context.TryCancel();
    if (!ok || broken_) return Release(true);
    {
      const std::lock_guard lock(mutex_);
      reading_ = false;
    }
    told_(message_.get(), Status::Ok());
  }

  void OnDone(const grpc::Status& status) override {
    TakeOver(this);
    const std::shared_ptr<StreamCall> self = std::move(self_);
    std::exchange(told_, nullptr)(nullptr, broken_ ? Broken() : FromGrpc(status));
    owner_->End(this);
  }

 private:
  Backend* const owner_;
  const grpc::ByteBuffer request_;
  grpc::ByteBuffer bytes_;
  std::unique_ptr<google::protobuf::Message> message_;
  Told told_;
  // No read will be started any more; if one goes on, its end says so again.
  void Release(bool read_is_over) {
    {
      const std::lock_guard lock(mutex_);
      if (released_ || (reading_ && !read_is_over)) return;
      released_ = true;
    }
    RemoveHold();
  }

  bool broken_ = false;
  std::shared_ptr<StreamCall> self_;
  std::mutex mutex_;  // guards what follows
  bool reading_ = true;
  bool released_ = false;
};

void Backend::SetCredentials(const Credentials& who, grpc::ClientContext* context) const {
  if (!who.authorization.empty()) context->AddMetadata("authorization", who.authorization);
  if (!who.user.empty()) context->AddMetadata("glim-user", who.user);
  context->AddMetadata(forward_.name, forward_.text(who.peer));
}

bool Backend::Begin(const void* call, std::function<void()> cancel) {
  const std::lock_guard lock(mutex_);
  if (!stopped_) calls_[call] = std::move(cancel);
  return !stopped_;
}

void Backend::End(const void* call) {
  const std::lock_guard lock(mutex_);
  calls_.erase(call);
  ended_.notify_all();
}

void Backend::Ask(const std::string& method, const Credentials& who, const google::protobuf::Message& request,
                  std::unique_ptr<google::protobuf::Message> answer, std::chrono::milliseconds patience, Done done) {
  auto call = std::make_shared<UnaryCall>(this, request, std::move(answer), done);
  SetCredentials(who, &call->context);
  call->context.set_deadline(std::chrono::system_clock::now() + patience);
  const auto cancel = [weak = std::weak_ptr<UnaryCall>(call)] {
    if (const auto going = weak.lock()) going->context.TryCancel();
  };
  if (!Begin(call.get(), cancel)) return done(Stopping(), nullptr);
  UnaryCall* const started = call.get();
  started->Start(kPackage + method, std::move(call));
}

std::shared_ptr<ReadStream> Backend::Open(const std::string& method, const Credentials& who,
                                          const google::protobuf::Message& request,
                                          std::unique_ptr<google::protobuf::Message> message, ReadStream::Told told) {
  auto call = std::make_shared<StreamCall>(this, request, std::move(message), std::move(told));
  SetCredentials(who, &call->context);
  const auto cancel = [weak = std::weak_ptr<StreamCall>(call)] {
    if (const auto going = weak.lock()) going->Cancel();
  };
  if (!Begin(call.get(), cancel)) return nullptr;
  call->Start(kPackage + method, call);
  return call;
}

// gRPC may tell of an end on the very thread that cancels: so not under the lock.
void Backend::Stop() {
  std::vector<std::function<void()>> cancels;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& [call, cancel] : calls_) cancels.push_back(cancel);
  }
  for (const auto& cancel : cancels) cancel();
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return calls_.empty(); });
}

}  // namespace glim::gateway
