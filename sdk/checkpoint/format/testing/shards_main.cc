// ckpt_shards DIR WORLD: writes the shards and the manifest of a sample checkpoint into the folder DIR, with checksums,
// as a job of WORLD ranks would. Byte i of a tensor is ((i * 2654435761) >> 29 ^ first byte of its name) mod 256.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/format/layout.h"
#include "sdk/checkpoint/format/manifest_json.h"
#include "sdk/checkpoint/format/manifest_merge.h"
#include "sdk/checkpoint/format/testing/sample.h"

namespace glim::checkpoint {
namespace {

struct Sample {
  TensorInfo info;
  Placement placement;
};

const std::vector<Sample>& Samples() {
  static const std::vector<Sample> samples = {
      {{"embedding", DType::kF32, {1000, 33}}, Placement::kRows},
      {{"large", DType::kBF16, {9, 500'001}}, Placement::kReplicated},
      {{"mask", DType::kBool, {3}}, Placement::kReplicated},
      {{"none", DType::kF16, {0, 4}}, Placement::kReplicated},
      {{"odd", DType::kU8, {4097}}, Placement::kReplicated},
      {{"quoted \"\\ \xc3\xb6", DType::kI64, {7}}, Placement::kReplicated},
      {{"step", DType::kF64, {}}, Placement::kReplicated},
  };
  return samples;
}

std::vector<std::byte> BytesOfSample(const TensorInfo& info) {
  std::vector<std::byte> bytes(*BytesOf(info.dtype, info.shape));
  const auto seed = static_cast<unsigned char>(info.name[0]);
  for (std::uint64_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((i * 2654435761U >> 29) ^ seed);
  return bytes;
}

// What rank `rank` holds; `data` keeps the bytes.
std::vector<SaveTensor> TensorsOf(std::uint32_t rank, std::uint32_t world, std::vector<std::vector<std::byte>>& data) {
  std::vector<SaveTensor> tensors;
  data.reserve(Samples().size() + 1);
  for (const Sample& sample : Samples()) {
    data.push_back(BytesOfSample(sample.info));
    SaveTensor tensor{.info = sample.info, .placement = sample.placement, .rows = {}, .data = data.back()};
    if (sample.placement == Placement::kRows) {
      const std::uint64_t rows = sample.info.shape[0];
      tensor.rows.first = rows * rank / world;
      tensor.rows.count = rows * (rank + 1) / world - tensor.rows.first;
      const std::uint64_t row_bytes = data.back().size() / rows;
      tensor.data = tensor.data.subspan(tensor.rows.first * row_bytes, tensor.rows.count * row_bytes);
    }
    tensors.push_back(tensor);
  }
  const TensorInfo own{.name = "rng." + std::to_string(rank), .dtype = DType::kU8, .shape = {100}};
  data.push_back(BytesOfSample(own));
  tensors.push_back({.info = own, .placement = Placement::kOwn, .rows = {}, .data = data.back()});
  return tensors;
}

void WriteFile(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  GLIM_CHECK(file.good(), "could not write " + path);
}

Manifest WriteShard(const std::string& folder, std::uint32_t rank, std::uint32_t world) {
  std::vector<std::vector<std::byte>> data;
  const std::vector<SaveTensor> tensors = TensorsOf(rank, world, data);
  const auto layout = LayOut(tensors, rank, world, kChunkBytes);
  GLIM_CHECK(layout.ok(), layout.status().message());
  std::vector<std::byte> image(layout->file_bytes);
  const auto header = std::as_bytes(std::span(layout->header));
  std::copy(header.begin(), header.end(), image.begin());
  for (const CopyRange& copy : layout->copies) {
    const auto from = tensors[copy.tensor].data.subspan(copy.from, copy.bytes);
    std::copy(from.begin(), from.end(), image.begin() + static_cast<std::ptrdiff_t>(copy.to));
  }
  Manifest part = testing::PartOf(*layout, rank, world);
  part.metadata = {{"note", "a sample"}};
  part.shards[0].header_crc32c = Crc32c(header);
  for (TensorEntry& entry : part.tensors) {
    for (Piece& piece : entry.pieces) {
      for (std::size_t i = 0; i < piece.crc32c.size(); ++i) {
        const std::uint64_t at = i * kChunkBytes;
        piece.crc32c[i] = Crc32c(std::span(image).subspan(piece.offset + at, std::min(kChunkBytes, piece.bytes - at)));
      }
    }
  }
  WriteFile(folder + "/" + part.shards[0].file, image);
  return part;
}

int Main(const std::string& folder, std::uint32_t world) {
  std::vector<Manifest> parts;
  for (std::uint32_t rank = 0; rank < world; ++rank) parts.push_back(WriteShard(folder, rank, world));
  const auto manifest = Merge(std::move(parts));
  GLIM_CHECK(manifest.ok(), manifest.status().message());
  const std::string json = ToJson(*manifest);
  WriteFile(folder + "/manifest.json", std::as_bytes(std::span(json)));
  return 0;
}

}  // namespace
}  // namespace glim::checkpoint

int main(int argc, char** argv) {
  if (argc != 3 || std::atoi(argv[2]) < 1) {
    std::fprintf(stderr, "usage: ckpt_shards DIR WORLD\n");
    return 2;
  }
  return glim::checkpoint::Main(argv[1], static_cast<std::uint32_t>(std::atoi(argv[2])));
}
