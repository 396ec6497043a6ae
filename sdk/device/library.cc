#include "sdk/device/library.h"

#include <dlfcn.h>

namespace glim::device {

Result<Library> Library::Open(std::initializer_list<const char*> names) {
  std::string why = "no name";
  for (const char* name : names) {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Library(name, handle);
    if (const char* said = ::dlerror()) why = said;
  }
  return Status(StatusCode::kUnavailable, why);
}

Result<Library> Library::Open(const std::string& path) { return Open({path.c_str()}); }

Result<Library> Library::Loaded(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return Library(name, handle);
  }
  return Status(StatusCode::kNotFound, "not loaded");
}

void* Library::Symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace glim::device
