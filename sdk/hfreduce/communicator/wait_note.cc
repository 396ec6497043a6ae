#include "sdk/hfreduce/communicator/wait_note.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace glim::hfreduce {
namespace {

constexpr std::size_t kNoteBytes = 512;  // all of the file: words, then zeros

}  // namespace

// A reader may come at any moment: the first byte is zero while the others change.
void WaitNote::Say(const std::string& words) {
  if (words == said_) return;
  if (!file_) file_ = UniqueFd(::memfd_create("glim-waits", MFD_CLOEXEC));
  if (!file_) return;
  said_ = words;
  std::string whole = words.empty() ? "" : "hfreduce: " + words;
  whole.resize(kNoteBytes);
  whole.back() = '\0';
  const char none = '\0';
  (void)!::pwrite(file_.get(), &none, 1, 0);
  if (words.empty()) return;
  (void)!::pwrite(file_.get(), whole.data() + 1, whole.size() - 1, 1);
  (void)!::pwrite(file_.get(), whole.data(), 1, 0);
}

}  // namespace glim::hfreduce
