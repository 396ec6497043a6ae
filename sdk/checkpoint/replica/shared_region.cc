#include "sdk/checkpoint/replica/shared_region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "sdk/net/socket.h"

namespace glim::checkpoint {
namespace {

class SharedRegion final : public Region {
 public:
  SharedRegion(UniqueFd file, std::uint64_t number, std::uint64_t bytes)
      : file_(std::move(file)), number_(number), bytes_(bytes) {}
  std::uint64_t number() const override { return number_; }
  std::uint64_t bytes() const override { return bytes_; }
  int descriptor() const override { return file_.get(); }

 private:
  UniqueFd file_;
  std::uint64_t number_;
  std::uint64_t bytes_;
};

}  // namespace

Result<std::shared_ptr<Region>> SharedRegionMaker::Make(std::uint64_t bytes) {
  UniqueFd file(::memfd_create("glim-replica", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return Status(StatusCode::kResourceExhausted,
                  "no memory of " + std::to_string(bytes) + " bytes: " + net::ErrnoText(errno));
  }
  return std::shared_ptr<Region>(std::make_shared<SharedRegion>(std::move(file), ++made_, bytes));
}

}  // namespace glim::checkpoint
