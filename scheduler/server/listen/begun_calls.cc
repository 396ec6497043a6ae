#include "scheduler/server/listen/begun_calls.h"

#include <algorithm>
#include <new>
#include <utility>

#include "scheduler/server/listen/guarded_read.h"
#include "scheduler/server/listen/streams_begun.h"
#include "sdk/log/log.h"
#include "sdk/threads/hand_over.h"

namespace glim::server {
namespace {

constexpr char kProperty[] = "glim_calls";
constexpr Duration kTellEvery = Seconds(10);
// Between two looks at whose calls they are: a look costs some ms where there are thousands of connections.
constexpr Duration kLookAtCallsLeast = Milliseconds(5);
constexpr int kLookAtCallsShare = 10;

std::string_view TextOf(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

// gRPC keeps a property's bytes where they are, for as long as the context, and nobody else knows of this one.
BegunCalls::Connection* At(const char* bytes) {
  return std::launder(reinterpret_cast<BegunCalls::Connection*>(const_cast<char*>(bytes)));
}

BegunCalls::Connection* Find(const grpc_auth_context* context) {
  auto properties = grpc_auth_context_find_properties_by_name(context, kProperty);
  const grpc_auth_property* const found = grpc_auth_property_iterator_next(&properties);
  return found == nullptr ? nullptr : At(found->value);
}

BegunCalls::Connection* Find(const grpc::AuthContext& context) {
  const auto values = context.FindPropertyValues(kProperty);
  if (values.empty()) return nullptr;
  BegunCalls::Connection* const found = At(values.front().data());
  TakeOver(found);  // gRPC shows a call after it was let begin
  return found;
}

}  // namespace

// Of a call that is there as a whole, until it has gone.
class BegunCalls::OneCall final : public grpc::experimental::Interceptor {
 public:
  OneCall(std::shared_ptr<const grpc::AuthContext> context, Connection* connection)
      : context_(std::move(context)), connection_(connection) {
    HandOver(this);
  }
  ~OneCall() override {
    TakeOver(this);
    connection_->calls.fetch_sub(1);
  }
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override { methods->Proceed(); }

 private:
  const std::shared_ptr<const grpc::AuthContext> context_;  // holds the connection's
  Connection* const connection_;
};

class BegunCalls::Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(BegunCalls* owner) : owner_(owner) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    const grpc::ServerContextBase& context = *info->server_context();
    auto auth = context.auth_context();
    Connection* const connection = auth ? Find(*auth) : nullptr;
    if (connection == nullptr) return nullptr;  // gRPC's own calls beside those of peers
    if (owner_->rules_.any_call_proves) owner_->Proven(context, {});
    return new OneCall(std::move(auth), connection);
  }

 private:
  BegunCalls* const owner_;
};

grpc_auth_metadata_processor BegunCalls::Processor() { return {&BegunCalls::Process, nullptr, this}; }

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> BegunCalls::Interceptors() {
  return std::make_unique<Factory>(this);
}

BegunCalls::Connection* BegunCalls::ConnectionOf(grpc_auth_context* context) {
  const std::lock_guard lock(mutex_);
  if (Connection* const found = Find(context)) return found;
  alignas(Connection) const char none[sizeof(Connection)] = {};
  grpc_auth_context_add_property(context, kProperty, none, sizeof none);
  Connection* const made = new (Find(context)) Connection;
  HandOver(made);
  return made;
}

bool BegunCalls::MayBegin(Connection* connection, const grpc_metadata* metadata, std::size_t count) {
  connection->begun.fetch_add(1);
  const int others = connection->calls.fetch_add(1);
  if (others < kOfStrangers) return true;
  if (others < kOfKnown) {
    if (connection->number.load() != 0) return true;
    for (std::size_t i = 0; rules_.counts && i < count; ++i) {
      if (TextOf(metadata[i].key) == "authorization" && rules_.counts(TextOf(metadata[i].value))) return true;
    }
  }
  connection->calls.fetch_sub(1);
  return false;
}

void BegunCalls::Process(void* self, grpc_auth_context* context, const grpc_metadata* metadata, std::size_t count,
                         grpc_process_auth_metadata_done_cb done, void* user_data) {
  auto* const owner = static_cast<BegunCalls*>(self);
  if (!ReadsAreGuarded()) {
    LogError(
        "this build reads TLS without looking at it, and so answers nobody: link gRPC and OpenSSL as shared libraries");
    return done(user_data, nullptr, 0, nullptr, 0, GRPC_STATUS_UNAVAILABLE,
                "this scheduler is built wrongly: see its log");
  }
  Connection* const connection = owner->ConnectionOf(context);
  if (owner->MayBegin(connection, metadata, count)) {
    return done(user_data, nullptr, 0, nullptr, 0, GRPC_STATUS_OK, nullptr);
  }
  const std::uint64_t number = connection->number.load();
  std::optional<std::uint64_t> offender;
  if (connection->refused.fetch_add(1) + 1 >= kRefusedMax) offender = connection->begun.load();
  done(user_data, nullptr, 0, nullptr, 0, GRPC_STATUS_RESOURCE_EXHAUSTED,
       "too many calls of this connection are not over");
  owner->Refused(number, offender);
}

// Whose connection it is that went too far: gRPC tells here no more of it than of which user it is.
void BegunCalls::Refused(std::uint64_t number, std::optional<std::uint64_t> offender) {
  if (number != 0) connections_->End(number);
  const std::unique_lock lock(refused_mutex_, std::try_to_lock);
  if (!lock) return;
  const TimePoint now = SteadyNow();
  if (number == 0 && now >= look_at_) {
    ended_ += connections_->EndStrangersWhoBegan(StreamsBegun(connections_->Strangers()), now, offender);
    look_at_ = SteadyNow() + std::max(kLookAtCallsLeast, (SteadyNow() - now) * kLookAtCallsShare);
  }
  if (told_at_ && now - told_at_ < kTellEvery) return;
  told_at_ = now;
  LogWarning("strangers begin more calls than they may, which are refused connections_ended={}",
             std::exchange(ended_, 0));
}

void BegunCalls::Proven(const grpc::ServerContextBase& context, const std::string& user) {
  const auto auth = context.auth_context();
  Connection* const connection = auth ? Find(*auth) : nullptr;
  if (connection == nullptr || connection->number.load() != 0) return;
  connection->number = connections_->Proven(PeerOfUri(context.peer()), user);
}

}  // namespace glim::server
