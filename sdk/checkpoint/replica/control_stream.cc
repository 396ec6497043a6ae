#include "sdk/checkpoint/replica/control_stream.h"

#include <utility>

namespace glim::checkpoint {
namespace {

constexpr std::size_t kInputMax = kFrameHeadBytes + kFrameBodyBytesMax;
// Every answer is to a request, so that whoever reads has at most one waiting.
constexpr std::size_t kOutputMax = 2 * kInputMax;

}  // namespace

ControlStream::ControlStream(UniqueFd socket)
    : stream_(std::move(socket), {.input = kInputMax, .output = kOutputMax}) {}

}  // namespace glim::checkpoint
