// glim-image: started by glim-agent, never by hand. Reads an ImageOrder (nodeagent/images/image_order.h) from
// descriptor 3, sees to it that the image is a file of this node's, and writes an ImageAnswer to descriptor 4. Exit
// status 0, or 1 when the order cannot be read.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "nodeagent/programs/image/image_import.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr int kInput = 3;
constexpr int kOutput = 4;
constexpr std::size_t kOrderBytesMax = 1 << 20;

int Main() {
  ::umask(077);
  std::string text;
  if (ReadAll(kInput, kOrderBytesMax, text) != 0) return 1;
  const Result<ImageOrder> order = ParseImageOrder(text);
  if (!order.ok()) return 1;
  const std::string answer = ToJson(HaveImage(*order));
  for (std::size_t done = 0; done < answer.size();) {
    const ssize_t n = ::write(kOutput, answer.data() + done, answer.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 1;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace
}  // namespace glim::nodeagent

int main() { return glim::nodeagent::Main(); }
