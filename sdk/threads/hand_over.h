// HandOver and TakeOver tell the thread sanitizer of an order that it cannot see; elsewhere they are nothing.
//
// gRPC calls a reactor only after the call was started, and OnDone only after every other callback. Debian's gRPC is
// not instrumented, so the sanitizer sees neither its locks nor this order. What has come before HandOver(x) on one
// thread is ordered before what follows TakeOver(x) on another. To be used where gRPC promises just that, and
// for memory that the kernel maps anew (io_uring's rings), nowhere else: a suppression would hide much more
// (cmake/sanitizer_options.cc).
#pragma once

#if defined(GLIM_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace glim {

inline void HandOver([[maybe_unused]] void* object) {
#if defined(GLIM_THREAD_SANITIZER)
  __tsan_release(object);
#endif
}

inline void TakeOver([[maybe_unused]] void* object) {
#if defined(GLIM_THREAD_SANITIZER)
  __tsan_acquire(object);
#endif
}

}  // namespace glim
