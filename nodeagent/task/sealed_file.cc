#include "nodeagent/task/sealed_file.h"

#include <cstdio>
#include <filesystem>

#include "sdk/io/folders.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::string_view kSealBegin = ",\"checksum\":\"";
constexpr std::string_view kSealEnd = "\"}";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kSealBytes = kSealBegin.size() + kDigits + kSealEnd.size();
constexpr int kKeptOfOneName = 9;

}  // namespace

std::uint64_t Checksum(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return sum;
}

std::string ChecksumText(std::string_view bytes) {
  char digits[kDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(Checksum(bytes)));
  return digits;
}

std::string SealObject(const std::string& object) {
  const std::string open = object.substr(0, object.rfind('}'));
  return open + std::string(kSealBegin) + ChecksumText(open) + std::string(kSealEnd);
}

Status WriteSealed(const std::string& path, const std::string& object, Durability durability) {
  return WriteFileAtomically(path, SealObject(object), durability);
}

Result<std::string> ReadSealed(const std::string& path, std::size_t bytes_max) {
  Result<std::string> text = ReadFile(path, bytes_max);
  if (!text.ok()) return text;
  if (Status status = CheckSeal(path, *text); !status.ok()) return status;
  return text;
}

Status CheckSeal(const std::string& path, const std::string& text) {
  if (text.empty()) return Status(StatusCode::kDataLoss, path + " is empty");
  if (text.size() < kSealBytes) return Status::Ok();
  const std::string_view seal = std::string_view(text).substr(text.size() - kSealBytes);
  if (!seal.starts_with(kSealBegin) || !seal.ends_with(kSealEnd)) return Status::Ok();
  const std::string_view open = std::string_view(text).substr(0, text.size() - kSealBytes);
  if (seal.substr(kSealBegin.size(), kDigits) == ChecksumText(open)) return Status::Ok();
  return Status(StatusCode::kDataLoss, path + " is damaged: its checksum is not that of its bytes");
}

std::string SetAside(const std::string& state_dir, const std::string& path) {
  const std::string folder = state_dir + "/set-aside";
  if (!MakePrivateFolder(folder).ok()) return "";
  std::string name = path.starts_with(state_dir + "/") ? path.substr(state_dir.size() + 1) : path;
  for (char& c : name) c = c == '/' ? '_' : c;
  std::error_code error;
  int number = 1;
  const auto place = [&] { return folder + "/" + name + "." + std::to_string(number); };
  while (number <= kKeptOfOneName && std::filesystem::exists(std::filesystem::symlink_status(place(), error))) ++number;
  if (std::filesystem::is_directory(place(), error)) std::filesystem::remove_all(place(), error);
  std::filesystem::rename(path, place(), error);
  return error ? "" : place();
}

}  // namespace glim::nodeagent
