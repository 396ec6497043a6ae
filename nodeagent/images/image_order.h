// What the agent and glim-image say to each other about an image. Plain values; parsing refuses what does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nodeagent/task/start_fault.h"
#include "nodeagent/task/user_paths.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

// Bounds of what a stranger's image may make of this node.
struct ImageBounds {
  std::uint64_t unpacked_bytes = std::uint64_t{64} << 30;  // what is unpacked and what it was packed in, together
  std::uint64_t files = 4'000'000;
  std::uint64_t folder_bytes = std::uint64_t{200} << 30;  // of all images of the node
};

struct ImageOrder {
  std::string image;     // as the spec names it; scheduler/core/model/image_name.h
  std::string real;      // where its path was found to lead: absolute, without links; empty: it is a registry's
  MakeRules rules;       // what of the node jobs may name, and who asks
  std::string folder;    // of this node's images
  std::string progress;  // a file that says how many bytes lie there so far, while it is imported
  // Beside those at public addresses: HOST[:PORT], or http://HOST[:PORT] for plain http.
  std::vector<std::string> registries;
  ImageBounds bounds;
};

// What is known of an image that is here.
struct ImageFacts {
  std::string digest;         // of its manifest; empty: it has none
  std::string workdir;        // absolute; empty: it names none
  std::string shell;          // "/bin/bash" or "/bin/sh"
  std::string libc;           // "glibc", "musl" or empty: neither was found
  std::string passwd, group;  // its files of accounts
  std::vector<std::pair<std::string, std::string>> env;
  std::uint64_t bytes = 0;  // of its file
};

// glim-image's last word.
struct ImageAnswer {
  std::string file;  // the image, for MountOrder; empty: it cannot be had
  ImageFacts facts;
  StartFault fault = StartFault::kNode;  // why not
  std::string message;
};

ImageAnswer NoImage(const Status& why);

std::string ToJson(const ImageOrder& order);
Result<ImageOrder> ParseImageOrder(const std::string& text);
std::string ToJson(const ImageFacts& facts);
Result<ImageFacts> ParseImageFacts(const std::string& text);
std::string ToJson(const ImageAnswer& answer);
Result<ImageAnswer> ParseImageAnswer(const std::string& text);

inline constexpr std::size_t kImageFactsBytesMax = 4 << 20;

}  // namespace glim::nodeagent
