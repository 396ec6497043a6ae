#include "sdk/net/ucx/endpoint.h"

namespace glim::net::ucx {
namespace {

constexpr Duration kLinger = Seconds(1);

}  // namespace

void Endpoint::OnError(void* endpoint, ucp_ep_h, ucs_status_t status) {
  auto& self = *static_cast<Endpoint*>(endpoint);
  self.broken_ = std::string("the connection broke: ") + ucs_status_string(status);
  if (self.on_broken_) self.on_broken_(self.broken_);
}

Result<std::unique_ptr<Endpoint>> Endpoint::Open(Worker& worker, const std::string& peer, Broken on_broken) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint(worker, std::move(on_broken)));
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.data());
  params.err_mode = worker.error_mode();
  params.err_handler.cb = OnError;
  params.err_handler.arg = endpoint.get();
  const ucs_status_t status = ucp_ep_create(worker.handle(), &params, &endpoint->handle_);
  if (status != UCS_OK) return Failure("UCX has no way to the peer", status);
  return endpoint;
}

Endpoint::~Endpoint() {
  if (handle_ != nullptr && !worked_ && broken_.empty() && worker_.may_use_verbs()) {
    worked_ = worker_.Await(Flush(), kLinger, "first words").ok();
  }
  (void)worker_.Await(StartClose(), kLinger, "close");
}

ucs_status_ptr_t Endpoint::StartClose() {
  // Keys belong to the endpoint, also to one that is left alone: nothing is sent any more.
  for (ucp_rkey_h key : std::exchange(keys_, {})) ucp_rkey_destroy(key);
  if (handle_ == nullptr) return nullptr;
  if (!worked_ && worker_.may_use_verbs()) {
    worker_.Abandon();
    handle_ = nullptr;
    return nullptr;
  }
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = worker_.error_mode() == UCP_ERR_HANDLING_MODE_PEER ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  return ucp_ep_close_nbx(std::exchange(handle_, nullptr), &params);
}

Result<ucp_rkey_h> Endpoint::Unpack(const std::string& key) {
  ucp_rkey_h unpacked = nullptr;
  const ucs_status_t status = ucp_ep_rkey_unpack(handle_, key.data(), &unpacked);
  if (status != UCS_OK) return Failure("the peer's memory", status);
  keys_.push_back(unpacked);
  return unpacked;
}

ucs_status_ptr_t Endpoint::Put(std::span<const std::byte> from, std::uint64_t to, ucp_rkey_h key) {
  ucp_request_param_t params{};
  return ucp_put_nbx(handle_, from.data(), from.size(), to, key, &params);
}

ucs_status_ptr_t Endpoint::Get(std::span<std::byte> into, std::uint64_t from, ucp_rkey_h key) {
  ucp_request_param_t params{};
  return ucp_get_nbx(handle_, into.data(), into.size(), from, key, &params);
}

ucs_status_ptr_t Endpoint::Flush() {
  ucp_request_param_t params{};
  return ucp_ep_flush_nbx(handle_, &params);
}

}  // namespace glim::net::ucx
