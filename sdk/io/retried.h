// Makes a system call again when a signal interrupted it.
#pragma once

#include <cerrno>

namespace glim {

// 0 or errno of a call that returns -1 for a failure, made again when a signal interrupted it.
template <typename Call>
int Retried(const Call& call) {
  int result = -1;
  do {
    result = call();
  } while (result == -1 && errno == EINTR);
  return result == -1 ? errno : 0;
}

}  // namespace glim
