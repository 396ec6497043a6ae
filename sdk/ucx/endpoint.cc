#include "sdk/ucx/endpoint.h"

namespace glim::ucx {
namespace {

constexpr Duration kLinger = Seconds(1);

}  // namespace

void Endpoint::Broke(void* endpoint, ucp_ep_h, ucs_status_t status) {
  static_cast<Endpoint*>(endpoint)->broken_ = std::string("the connection broke: ") + ucs_status_string(status);
}

Result<std::unique_ptr<Endpoint>> Endpoint::Open(Worker& worker, const std::string& peer) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint(worker));
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.data());
  params.err_mode = worker.error_mode();
  params.err_handler.cb = Broke;
  params.err_handler.arg = endpoint.get();
  const ucs_status_t status = ucp_ep_create(worker.handle(), &params, &endpoint->handle_);
  if (status != UCS_OK) return Failure("UCX has no way to the peer", status);
  return endpoint;
}

Endpoint::~Endpoint() {
  for (ucp_rkey_h key : keys_) ucp_rkey_destroy(key);
  if (handle_ == nullptr) return;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = worker_.error_mode() == UCP_ERR_HANDLING_MODE_PEER ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  (void)worker_.Await(ucp_ep_close_nbx(handle_, &params), kLinger, "close");
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

}  // namespace glim::ucx
