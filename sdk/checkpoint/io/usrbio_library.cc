#include "sdk/checkpoint/io/usrbio_library.h"

#include <dlfcn.h>

#include <type_traits>

namespace glim::checkpoint {
namespace {

Status Unavailable(const std::string& what) {
  return Status(StatusCode::kUnavailable, "3FS's library cannot be used: " + what)
      .WithField("io.usrbio_library")
      .WithFix("install 3FS's client, give the library's path, or use another io.kind");
}

}  // namespace

Result<UsrbioFunctions> LoadUsrbioLibrary(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return Unavailable(why != nullptr ? why : library);
  }
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (function == nullptr) missing = name;
  };
  UsrbioFunctions found;
  find(found.extract_mount_point, "hf3fs_extract_mount_point");
  find(found.iovcreate, "hf3fs_iovcreate");
  find(found.iovdestroy, "hf3fs_iovdestroy");
  find(found.iorcreate4, "hf3fs_iorcreate4");
  find(found.iordestroy, "hf3fs_iordestroy");
  find(found.reg_fd, "hf3fs_reg_fd");
  find(found.dereg_fd, "hf3fs_dereg_fd");
  find(found.prep_io, "hf3fs_prep_io");
  find(found.submit_ios, "hf3fs_submit_ios");
  find(found.wait_for_ios, "hf3fs_wait_for_ios");
  if (!missing.empty()) return Unavailable(library + " has no function " + missing);
  return found;
}

}  // namespace glim::checkpoint
