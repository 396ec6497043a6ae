#include "scheduler/gateway/static_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <utility>

#include "scheduler/gateway/answers.h"
#include "sdk/io/read_file.h"

namespace glim::gateway {
namespace {

constexpr std::size_t kDepthMax = 8;
constexpr char kIndex[] = "/index.html";

Status BadRoot(const std::string& message, std::string fix) {
  return Status(StatusCode::kInvalidArgument, "web_root: " + message)
      .WithReason("BAD_WEB_ROOT")
      .WithField("web_root")
      .WithFix(std::move(fix));
}

std::string TypeOf(std::string_view name) {
  static constexpr std::pair<std::string_view, const char*> kTypes[] = {{".html", "text/html; charset=utf-8"},
                                                                        {".js", "text/javascript; charset=utf-8"},
                                                                        {".mjs", "text/javascript; charset=utf-8"},
                                                                        {".css", "text/css; charset=utf-8"},
                                                                        {".json", "application/json"},
                                                                        {".map", "application/json"},
                                                                        {".svg", "image/svg+xml"},
                                                                        {".png", "image/png"},
                                                                        {".jpg", "image/jpeg"},
                                                                        {".ico", "image/x-icon"},
                                                                        {".webp", "image/webp"},
                                                                        {".woff2", "font/woff2"},
                                                                        {".woff", "font/woff"},
                                                                        {".ttf", "font/ttf"},
                                                                        {".txt", "text/plain; charset=utf-8"},
                                                                        {".webmanifest", "application/manifest+json"}};
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

}  // namespace

bool HasHashInName(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  const std::size_t dash = name.find_last_of("-.", dot == std::string_view::npos || dot == 0 ? 0 : dot - 1);
  if (dot == std::string_view::npos || dash == std::string_view::npos || dash == 0) return false;
  const std::string_view hash = name.substr(dash + 1, dot - dash - 1);
  const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  return hash.size() >= 8 && std::all_of(hash.begin(), hash.end(), is_letter) &&
         std::any_of(hash.begin(), hash.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

Result<std::unique_ptr<StaticFiles>> StaticFiles::Read(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    return BadRoot(folder + " is no folder", "name the folder of index.html");
  std::unique_ptr<StaticFiles> files(new StaticFiles());
  if (Status s = files->Add(folder, "", 0); !s.ok()) return s;
  if (!files->files_.contains(kIndex)) return BadRoot(folder + " has no index.html", "name the folder of index.html");
  return files;
}

Status StaticFiles::Add(const std::string& folder, const std::string& below, std::size_t depth) {
  if (depth > kDepthMax) return BadRoot(folder + " is nested too deep", "name the folder of the built pages");
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const auto kind = at->symlink_status(error).type();
    if (error) break;
    if (name.starts_with('.')) continue;
    Status status;
    if (kind == std::filesystem::file_type::directory) status = Add(at->path(), below + "/" + name, depth + 1);
    if (kind == std::filesystem::file_type::regular) status = AddFile(at->path(), below + "/" + name);
    if (!status.ok()) return status;
  }
  if (error) return BadRoot(folder + " cannot be read: " + error.message(), "let the scheduler's user read it");
  return Status::Ok();
}

Status StaticFiles::AddFile(const std::string& path, const std::string& name) {
  const auto text = ReadFile(path, kFileBytesMax);
  if (!text.ok())
    return BadRoot(text.status().message(), "let the scheduler's user read it, and keep files below 16 MiB");
  bytes_ += text->size();
  if (bytes_ > kAllBytesMax || files_.size() >= kFilesMax) {
    return BadRoot("there are more than 2000 files or 64 MiB", "name the folder of the built pages alone");
  }
  files_[name] = {TypeOf(name), TagOf(*text), HasHashInName(name), std::make_shared<const std::string>(*text)};
  return Status::Ok();
}

HttpAnswer StaticFiles::Answer(const HttpRequest& request) const {
  std::string path;
  auto found = files_.end();
  if (DecodePercent(request.path, false, &path)) found = files_.find(path == "/" ? kIndex : path);
  const std::string* const accept = request.Header("accept");
  const bool is_page = path.rfind('.') == std::string::npos || path.rfind('.') < path.rfind('/');
  if (found == files_.end() && is_page && accept != nullptr && accept->find("text/html") != std::string::npos) {
    found = files_.find(kIndex);
  }
  if (found == files_.end()) return ErrorAnswer(404, "NO_SUCH_PATH", "there is no such page", "begin at /");
  const File& file = found->second;
  HttpAnswer answer;
  answer.headers.emplace_back("ETag", file.tag);
  answer.headers.emplace_back("Cache-Control", file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  const std::string* const known = request.Header("if-none-match");
  if (known != nullptr && NamesTag(*known, file.tag)) {
    answer.status = 304;
    return answer;
  }
  answer.content_type = file.type;
  answer.body = file.text;
  return answer;
}

}  // namespace glim::gateway
