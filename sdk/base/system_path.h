// Where programs of the system lie: what Glim starts finds them there, whatever the PATH of its own process says.
#pragma once

namespace glim {

inline constexpr char kSystemPathVariable[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
inline constexpr const char* kSystemPath = kSystemPathVariable + sizeof("PATH=") - 1;

}  // namespace glim
