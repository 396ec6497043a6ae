#include "sdk/net/ucx/memory.h"

namespace glim::net::ucx {
namespace {

Status NotRegistered(std::size_t bytes, const Status& why) {
  return Status(StatusCode::kResourceExhausted, "no registered memory of " + std::to_string(bytes) +
                                                    " bytes: " + why.message() + "; " + LockedMemoryText())
      .WithFix("raise the limits of locked memory (ulimit -l, LimitMEMLOCK= of the unit) and of /dev/shm, or use less");
}

}  // namespace

Status Memory::Map(const ucp_mem_map_params_t& params) {
  if (const ucs_status_t s = ucp_mem_map(context_, &params, &handle_); s != UCS_OK) return Failure("ucp_mem_map", s);
  ucp_mem_attr_t attributes{};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  if (const ucs_status_t s = ucp_mem_query(handle_, &attributes); s != UCS_OK) return Failure("ucp_mem_query", s);
  bytes_ = {static_cast<std::byte*>(attributes.address), params.length};
  void* key = nullptr;
  std::size_t key_bytes = 0;
  if (const ucs_status_t s = ucp_rkey_pack(context_, handle_, &key, &key_bytes); s != UCS_OK) {
    return Failure("ucp_rkey_pack", s);
  }
  key_.assign(static_cast<const char*>(key), key_bytes);
  ucp_rkey_buffer_release(key);
  return Status::Ok();
}

Result<std::unique_ptr<Memory>> Memory::Allocate(Worker& worker, std::size_t bytes) {
  std::unique_ptr<Memory> memory(new Memory(worker));
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.length = bytes;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  if (Status mapped = memory->Map(params); !mapped.ok()) return NotRegistered(bytes, mapped);
  return memory;
}

Result<std::unique_ptr<Memory>> Memory::Register(Worker& worker, std::span<const std::byte> bytes) {
  std::unique_ptr<Memory> memory(new Memory(worker));
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = const_cast<std::byte*>(bytes.data());
  params.length = bytes.size();
  if (Status mapped = memory->Map(params); !mapped.ok()) return NotRegistered(bytes.size(), mapped);
  return memory;
}

Memory::~Memory() {
  if (handle_ != nullptr) ucp_mem_unmap(context_, handle_);
}

}  // namespace glim::net::ucx
