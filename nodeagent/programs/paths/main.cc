// glim-paths job | root ROOT MARKER | sockets | evidence | find-saves BASE NAME | remove-saves BASE NAME: started by
// glim-agent, never by hand. It looks at paths whose storage may hang, so that the agent does not.
//
//   job           reads a PathOrder (nodeagent/task/user_paths.h) from descriptor 3 and carries it out
//   root          looks at the cluster's checkpoint root (nodeagent/saves/root_check.h)
//   sockets       looks for abstract sockets of root's (nodeagent/os/root_sockets.h)
//   evidence      reads an EvidenceOrder (nodeagent/task/evidence.h) from descriptor 3: what a task's processes do
//   find-saves    looks at the folders of jobs' saves in a place (nodeagent/saves/old_saves.h)
//   remove-saves  reads a SavesOrder from descriptor 3, and removes those of jobs that have ended
// They write what they find to descriptor 4. Exit status 0, or 1 when the order cannot be read.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "nodeagent/os/root_sockets.h"
#include "nodeagent/saves/old_saves.h"
#include "nodeagent/saves/root_check.h"
#include "nodeagent/task/evidence.h"
#include "nodeagent/task/user_paths.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr int kInput = 3;
constexpr int kOutput = 4;
constexpr std::size_t kOrderBytesMax = 16 << 20;

void Tell(const std::string& record) {
  for (std::size_t done = 0; done < record.size();) {
    const ssize_t n = ::write(kOutput, record.data() + done, record.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(1);  // nobody listens any more
    done += static_cast<std::size_t>(n);
  }
}

int Main(int argc, char** argv) {
  ::umask(077);
  if (argc == 4 && std::string_view(argv[1]) == "root") {
    Tell(ToRecord(CheckRoot(argv[2], argv[3])));
    return 0;
  }
  if (argc == 2 && std::string_view(argv[1]) == "sockets") {
    Tell(ToSocketLines(RootsAbstractSockets()));
    return 0;
  }
  std::string text;
  if (argc == 4 && std::string_view(argv[1]) == "find-saves") {
    Tell(ToText(FindSaves({argv[2], argv[3]})));
    return 0;
  }
  if (argc == 4 && std::string_view(argv[1]) == "remove-saves") {
    if (ReadAll(kInput, kOrderBytesMax, text) != 0) return 1;
    const Result<SavesOrder> order = ParseOrder(text);
    if (!order.ok()) return 1;
    Tell(ToText(RemoveSaves({argv[2], argv[3]}, *order)));
    return 0;
  }
  if (argc == 2 && std::string_view(argv[1]) == "evidence") {
    if (ReadAll(kInput, kOrderBytesMax, text) != 0) return 1;
    const Result<EvidenceOrder> order = ParseEvidenceOrder(text);
    if (!order.ok()) return 1;
    Gather(*order, Tell);
    return 0;
  }
  if (argc != 2 || std::string_view(argv[1]) != "job" || ReadAll(kInput, kOrderBytesMax, text) != 0) return 1;
  const Result<PathOrder> order = ParsePathOrder(text);
  if (!order.ok()) return 1;
  LookAt(*order, Tell);
  return 0;
}

}  // namespace
}  // namespace glim::nodeagent

int main(int argc, char** argv) { return glim::nodeagent::Main(argc, argv); }
