#include "sdk/device/gdr_copy.h"

#include <iterator>
#include <utility>

#include "sdk/device/library.h"

namespace glim::device {

// As published in gdrapi.h of versions 2.x.
struct GdrFunctions {
  void* (*open)() = nullptr;
  int (*close)(void* gdr) = nullptr;
  int (*pin_buffer)(void* gdr, unsigned long address, std::size_t bytes, std::uint64_t token, std::uint32_t va_space,
                    GdrHandle* handle) = nullptr;
  int (*unpin_buffer)(void* gdr, GdrHandle handle) = nullptr;
  int (*get_callback_flag)(void* gdr, GdrHandle handle, int* flag) = nullptr;
  int (*map)(void* gdr, GdrHandle handle, void** mapped, std::size_t bytes) = nullptr;
  int (*unmap)(void* gdr, GdrHandle handle, void* mapped, std::size_t bytes) = nullptr;
  int (*copy_to_mapping)(GdrHandle handle, void* mapped, const void* host, std::size_t bytes) = nullptr;
  int (*copy_from_mapping)(GdrHandle handle, void* host, const void* mapped, std::size_t bytes) = nullptr;
  int (*get_attribute)(void* gdr, int attribute, int* value) = nullptr;  // from 2.4 on
};

namespace {

constexpr std::uintptr_t kDevicePage = std::uintptr_t{1} << 16;
constexpr std::size_t kMappingsMax = 32;
constexpr int kUsesPersistentMapping = 1;

}  // namespace

Result<std::unique_ptr<GdrCopy>> GdrCopy::Open(const std::string& library) {
  const Result<Library> found = library.empty() ? Library::Open({"libgdrapi.so.2"}) : Library::Open(library);
  if (!found.ok()) return Status(StatusCode::kUnavailable, "no GDRCopy: " + found.status().message());
  auto f = std::make_unique<GdrFunctions>();
  std::string missing;
  found->Need("gdr_open", f->open, missing);
  found->Need("gdr_close", f->close, missing);
  found->Need("gdr_pin_buffer", f->pin_buffer, missing);
  found->Need("gdr_unpin_buffer", f->unpin_buffer, missing);
  found->Need("gdr_get_callback_flag", f->get_callback_flag, missing);
  found->Need("gdr_map", f->map, missing);
  found->Need("gdr_unmap", f->unmap, missing);
  found->Need("gdr_copy_to_mapping", f->copy_to_mapping, missing);
  found->Need("gdr_copy_from_mapping", f->copy_from_mapping, missing);
  found->Find("gdr_get_attribute", f->get_attribute);
  if (!missing.empty()) return Status(StatusCode::kUnavailable, found->name() + " has no function " + missing);
  void* const gdr = f->open();
  if (gdr == nullptr) return Status(StatusCode::kUnavailable, "GDRCopy's driver does not run (gdr_open)");
  int persistent = 0;
  const bool asked = f->get_attribute != nullptr && f->get_attribute(gdr, kUsesPersistentMapping, &persistent) == 0;
  if (asked && persistent != 0) {
    f->close(gdr);
    return Status(StatusCode::kFailedPrecondition, "GDRCopy's driver keeps mappings of memory that was given back");
  }
  return std::unique_ptr<GdrCopy>(new GdrCopy(std::move(f), gdr));
}

GdrCopy::GdrCopy(std::unique_ptr<GdrFunctions> functions, void* gdr) : functions_(std::move(functions)), gdr_(gdr) {}

GdrCopy::~GdrCopy() {
  while (!mappings_.empty()) Remove(mappings_.begin());
  functions_->close(gdr_);
}

bool GdrCopy::FromDevice(void* to, const void* from, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  const Mapping* const mapping = Find(begin, bytes);
  if (mapping == nullptr) return false;
  const auto* const seen = static_cast<const std::byte*>(mapping->mapped) + (begin - mapping->begin);
  return functions_->copy_from_mapping(mapping->handle, to, seen, bytes) == 0;
}

bool GdrCopy::ToDevice(void* to, const void* from, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(to);
  const Mapping* const mapping = Find(begin, bytes);
  if (mapping == nullptr) return false;
  auto* const seen = static_cast<std::byte*>(mapping->mapped) + (begin - mapping->begin);
  return functions_->copy_to_mapping(mapping->handle, seen, from, bytes) == 0;
}

const GdrCopy::Mapping* GdrCopy::Find(std::uintptr_t begin, std::size_t bytes) {
  for (auto it = mappings_.begin(); it != mappings_.end();) {
    const auto mapping = it++;
    if (begin + bytes <= mapping->begin || mapping->begin + mapping->bytes <= begin) continue;
    if (!Valid(*mapping)) {
      Remove(mapping);
    } else if (mapping->begin <= begin && begin + bytes <= mapping->begin + mapping->bytes) {
      mappings_.splice(mappings_.begin(), mappings_, mapping);
      return &mappings_.front();
    }
  }
  Mapping mapping;
  mapping.begin = begin / kDevicePage * kDevicePage;
  mapping.bytes = (begin + bytes - mapping.begin + kDevicePage - 1) / kDevicePage * kDevicePage;
  if (functions_->pin_buffer(gdr_, mapping.begin, mapping.bytes, 0, 0, &mapping.handle) != 0) return nullptr;
  if (functions_->map(gdr_, mapping.handle, &mapping.mapped, mapping.bytes) != 0) {
    functions_->unpin_buffer(gdr_, mapping.handle);
    return nullptr;
  }
  if (mappings_.size() == kMappingsMax) Remove(std::prev(mappings_.end()));
  mappings_.push_front(mapping);
  return &mappings_.front();
}

// The driver says so when the memory was given back: another allocation may have its addresses by now.
bool GdrCopy::Valid(const Mapping& mapping) const {
  int given_back = 0;
  return functions_->get_callback_flag(gdr_, mapping.handle, &given_back) == 0 && given_back == 0;
}

void GdrCopy::Remove(std::list<Mapping>::iterator mapping) {
  functions_->unmap(gdr_, mapping->handle, mapping->mapped, mapping->bytes);
  functions_->unpin_buffer(gdr_, mapping->handle);
  mappings_.erase(mapping);
}

}  // namespace glim::device
