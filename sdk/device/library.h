// A shared library whose functions are found by name. It stays loaded: neither CUDA's runtime nor what uses it can do
// without it once it has run.
#pragma once

#include <initializer_list>
#include <string>

#include "sdk/base/result.h"

namespace glim::device {

class Library {
 public:
  // The first of `names` that can be loaded. UNAVAILABLE: none can, with the loader's last word.
  static Result<Library> Open(std::initializer_list<const char*> names);
  static Result<Library> Open(const std::string& path);
  // The first that this process has loaded already. NOT_FOUND.
  static Result<Library> Loaded(std::initializer_list<const char*> names);

  // Null: it has none of this name.
  template <typename Function>
  void Find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(Symbol(name));
  }
  // As Find, and remembers in `missing` (its last name) that there is none.
  template <typename Function>
  void Need(const char* name, Function*& function, std::string& missing) const {
    Find(name, function);
    if (function == nullptr) missing = name;
  }
  const std::string& name() const { return name_; }

 private:
  Library(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}
  void* Symbol(const char* name) const;

  std::string name_;
  void* handle_;
};

}  // namespace glim::device
