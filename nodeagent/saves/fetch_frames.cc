#include "nodeagent/saves/fetch_frames.h"

#include <cstdint>
#include <string>

namespace glim::nodeagent {
namespace {

// The field `data` as protocol buffers write it: its number and type in one byte, its length, its bytes.
constexpr std::uint8_t kDataTag = (v1::FetchChunk::kDataFieldNumber << 3U) | 2U;
constexpr std::size_t kHeaderBytesMax = 6;

Status NoFrame() { return Status(StatusCode::kInvalidArgument, "a message that is no FetchChunk"); }

// Reads one byte after the other over the slices' ends.
class SliceReader {
 public:
  explicit SliceReader(const std::vector<grpc::Slice>& slices) : slices_(slices) {}

  bool Next(std::uint8_t* byte) {
    while (slice_ < slices_.size() && at_ == slices_[slice_].size()) {
      ++slice_;
      at_ = 0;
    }
    if (slice_ == slices_.size()) return false;
    *byte = slices_[slice_].begin()[at_++];
    return true;
  }
  std::vector<grpc::Slice> Rest() const {
    std::vector<grpc::Slice> rest;
    for (std::size_t i = slice_; i < slices_.size(); ++i) {
      const std::size_t begin = i == slice_ ? at_ : 0;
      if (begin < slices_[i].size()) rest.push_back(slices_[i].sub(begin, slices_[i].size()));
    }
    return rest;
  }

 private:
  const std::vector<grpc::Slice>& slices_;
  std::size_t slice_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

grpc::ByteBuffer DataFrame(grpc::Slice data) {
  std::uint8_t header[kHeaderBytesMax] = {kDataTag};
  std::size_t used = 1;
  std::size_t length = data.size();
  do {
    header[used++] = static_cast<std::uint8_t>((length & 0x7FU) | (length > 0x7F ? 0x80U : 0U));
    length >>= 7U;
  } while (length > 0);
  const grpc::Slice slices[] = {grpc::Slice(header, used), std::move(data)};
  return {slices, 2};
}

grpc::ByteBuffer ControlFrame(const v1::FetchChunk& chunk) {
  const grpc::Slice slice(chunk.SerializeAsString());
  return {&slice, 1};
}

Result<Frame> ParseFrame(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return NoFrame();
  Frame frame;
  SliceReader reader(slices);
  std::uint8_t byte = 0;
  if (!reader.Next(&byte)) return NoFrame();
  if (byte != kDataTag) {
    if (buffer.Length() > kControlBytesMax) return NoFrame();
    std::string text;
    for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    if (!frame.chunk.ParseFromString(text) || frame.chunk.has_data() ||
        frame.chunk.kind_case() == v1::FetchChunk::KIND_NOT_SET) {
      return NoFrame();
    }
    return frame;
  }
  std::uint64_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (shift > 28 || !reader.Next(&byte)) return NoFrame();
    length |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  frame.is_data = true;
  frame.data = reader.Rest();
  for (const grpc::Slice& slice : frame.data) frame.data_bytes += slice.size();
  if (frame.data_bytes != length) return NoFrame();
  return frame;
}

}  // namespace glim::nodeagent
