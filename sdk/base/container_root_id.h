// The id of nodes that no user may have.
#pragma once

#include <cstdint>

namespace glim {

// What stands for root in a container, as user and as group: an id that owns nothing and that nobody has. (Ids from
// 2^31 up are nobody's by convention, and files of them are none: systemd's uids table.)
inline constexpr std::uint32_t kContainerRootId = 4'294'900'000;

}  // namespace glim
