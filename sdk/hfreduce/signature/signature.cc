#include "sdk/hfreduce/signature/signature.h"

#include <string_view>

#include "sdk/base/check.h"

namespace glim::hfreduce {
namespace {

constexpr int kTypeShift = 3;
constexpr int kOpShift = 6;
constexpr int kRootShift = 9;
constexpr int kCountShift = 25;

std::string NameOfOp(ReduceOp op) {
  return static_cast<int>(op) < kReduceOps ? std::string(NameOf(op)) : "op " + std::to_string(static_cast<int>(op));
}

void Append(std::string* text, std::string_view field, const std::string& theirs, const std::string& ours) {
  if (theirs == ours) return;
  if (!text->empty()) *text += ", ";
  *text += std::string(field) + " " + theirs + " against " + ours;
}

}  // namespace

std::uint64_t Pack(const Signature& signature) {
  GLIM_CHECK(signature.count <= kCountMax && signature.root < (1u << (kCountShift - kRootShift)), "no room for it");
  return static_cast<std::uint64_t>(signature.kind) | static_cast<std::uint64_t>(signature.type) << kTypeShift |
         static_cast<std::uint64_t>(signature.op) << kOpShift | std::uint64_t{signature.root} << kRootShift |
         signature.count << kCountShift;
}

Signature Unpack(std::uint64_t bits) {
  return {.kind = static_cast<Collective>(bits & 7),
          .type = static_cast<DType>(bits >> kTypeShift & 7),
          .op = static_cast<ReduceOp>(bits >> kOpShift & 7),
          .root = static_cast<std::uint32_t>(bits >> kRootShift & 0xffff),
          .count = bits >> kCountShift};
}

std::string Describe(const Signature& signature) {
  std::string text = NameOf(signature.kind);
  if (signature.kind == Collective::kBarrier) return text;
  text += " of " + std::to_string(signature.count) + " ";
  text += Reduces(signature.kind) ? std::string(NameOf(signature.type)) + " (" + NameOfOp(signature.op) + ")" : "bytes";
  if (HasRoot(signature.kind)) {
    text += (signature.kind == Collective::kReduce ? " to rank " : " from rank ") + std::to_string(signature.root);
  }
  return text;
}

std::string Difference(const Signature& theirs, const Signature& ours) {
  std::string text;
  Append(&text, "kind", NameOf(theirs.kind), NameOf(ours.kind));
  Append(&text, "count", std::to_string(theirs.count), std::to_string(ours.count));
  Append(&text, "type", std::string(NameOf(theirs.type)), std::string(NameOf(ours.type)));
  Append(&text, "op", NameOfOp(theirs.op), NameOfOp(ours.op));
  Append(&text, "root", std::to_string(theirs.root), std::to_string(ours.root));
  return text;
}

}  // namespace glim::hfreduce
