#include "nodeagent/saves/fetch_frames.h"

#include <gtest/gtest.h>

#include <string>

namespace glim::nodeagent {
namespace {

std::string TextOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

// As the network may cut it.
grpc::ByteBuffer Cut(const std::string& text, std::size_t bytes) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < text.size(); at += bytes) slices.emplace_back(text.substr(at, bytes));
  return {slices.data(), slices.size()};
}

TEST(FetchFrames, AreFetchChunksOnTheWire) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{127}, std::size_t{128}, kPieceBytes}) {
    const std::string data(bytes, 'x');
    v1::FetchChunk chunk;
    chunk.set_data(data);
    EXPECT_EQ(TextOf(DataFrame(grpc::Slice(data))), chunk.SerializeAsString()) << bytes;
  }
}

TEST(FetchFrames, AreReadHoweverTheyAreCut) {
  const std::string data(1000, 'd');
  const std::string text = TextOf(DataFrame(grpc::Slice(data)));
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{2}, std::size_t{3}, text.size()}) {
    const Result<Frame> frame = ParseFrame(Cut(text, bytes));
    ASSERT_TRUE(frame.ok());
    EXPECT_TRUE(frame->is_data);
    std::string read;
    for (const grpc::Slice& slice : frame->data) {
      read.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    EXPECT_EQ(read, data);
  }
  v1::FetchChunk chunk;
  chunk.mutable_file()->set_path("a/b");
  chunk.mutable_file()->set_bytes(5);
  const Result<Frame> frame = ParseFrame(Cut(chunk.SerializeAsString(), 1));
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->chunk.file().path(), "a/b");
}

TEST(FetchFrames, WhatIsNoChunkIsRefused) {
  v1::FetchChunk large;
  large.mutable_file()->set_path(std::string(kControlBytesMax, 'x'));
  for (const std::string& text : {std::string(), std::string("\x12"),
                                  std::string("\x12\x05"
                                              "abc"),
                                  std::string("\x12\xff\xff\xff\xff\xff\xff"), std::string("\x0a\x7f"),
                                  std::string("\x7f"), large.SerializeAsString()}) {
    EXPECT_FALSE(ParseFrame(Cut(text, 1000)).ok());
  }
}

}  // namespace
}  // namespace glim::nodeagent
