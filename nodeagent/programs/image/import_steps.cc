#include "nodeagent/programs/image/import_steps.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <vector>

#include "nodeagent/os/last_words.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/programs/image/image_config.h"
#include "nodeagent/programs/image/tidy_root.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kTag = "image";  // of the one image in the layout that skopeo makes

std::string Work(const char* name) { return std::string(kWork) + "/" + name; }

// In a folder of its own: a layer that means ill can empty the folder above the root (umoci 0.4.7), and no other.
std::string UnpackedRoot() { return Work("bundle") + "/rootfs"; }

// What a registry says that has no such image, or gives it to nobody; all else is the way to it, or its own trouble.
constexpr const char* kNotThere[] = {"manifest unknown", "name unknown",   "not found",      "unauthorized",
                                     "denied",           "Digest did not", "authentication", "does not match"};
constexpr const char* kNoRoom[] = {"no space left on device", "No space left on device", "file too large",
                                   "File too large"};

template <std::size_t N>
bool HasOneOf(const std::string& text, const char* const (&words)[N]) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

// Without what the programs put around: time="..." level=fatal msg="...", and a cross.
std::string Bare(std::string line) {
  const std::string message = " msg=\"";
  if (const std::size_t at = line.find(message); line.starts_with("time=") && at != std::string::npos) {
    line = line.substr(at + message.size());
    if (line.ends_with('"')) line.pop_back();
  }
  const std::size_t begin = line.find_first_not_of(" \t\xe2\xa8\xaf");
  return begin == std::string::npos ? line : line.substr(begin);
}

enum class Step { kFetch, kUnpack, kPack };

Status Failure(const ImportPlan& plan, Step step, const std::string& line) {
  if (HasOneOf(line, kNoRoom)) {
    const std::string message = "the image takes more room than this node has for one";
    if (plan.by_disk) return Status(StatusCode::kUnavailable, message + ": its disk is nearly full");
    return InvalidArgument("image", message + " (image_bytes of its agent)", "use a smaller one, or ask the operator");
  }
  const char* const what = step == Step::kFetch ? "had" : step == Step::kUnpack ? "unpacked" : "packed";
  const std::string message = std::string("the image cannot be ") + what + ": " + Bare(line);
  const bool of_file = plan.name.kind != core::ImageKind::kRegistry;
  const bool images_own = step == Step::kUnpack || (step == Step::kFetch && (of_file || HasOneOf(line, kNotThere)));
  if (!images_own) return Status(StatusCode::kUnavailable, message);
  const bool packed =
      plan.name.kind == core::ImageKind::kDockerArchive && line.find("archive/tar") != std::string::npos;
  return InvalidArgument("image", message, packed ? "if the archive is compressed, unpack it first (gunzip)" : "");
}

// By a program whose output is `words`; with nothing of the node's in its environment.
Status Run(const ImportPlan& plan, Step step, const std::vector<std::string>& arguments) {
  const std::string words = Work("words");
  ::unlink(words.c_str());
  const std::vector<std::string> environment = {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C",
                                                "HOME=" + std::string(kWork), "TMPDIR=" + Work("tmp"),
                                                "XDG_RUNTIME_DIR=" + Work("tmp")};
  const Result<pid_t> pid = StartProgram(arguments, environment, words);
  if (!pid.ok()) {
    return Status(StatusCode::kFailedPrecondition, "this node cannot fetch images: " + pid.status().message())
        .WithFix("install skopeo, umoci and squashfs-tools on the node");
  }
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Status::Ok();
  return Failure(plan, step, LastLineIn(words, "it gave no reason"));
}

std::string SourceOf(const ImportPlan& plan) {
  const core::ImageName& name = plan.name;
  if (name.kind == core::ImageKind::kDockerArchive) return std::string("docker-archive:") + kSource;
  if (name.kind == core::ImageKind::kOciFolder) {
    return std::string("oci:") + kSource + (name.tag.empty() ? "" : ":" + name.tag);
  }
  return "docker://" + name.registry + "/" + name.repository + "@" + name.digest;
}

// Layers, one above the other, below `root`.
Result<ImageFacts> UnpackLayers(const ImportPlan& plan, std::string* root) {
  const std::string layout = Work("oci");
  std::vector<std::string> copy = {"/usr/bin/skopeo", "--tmpdir", Work("tmp"), "copy", "--quiet"};
  if (plan.plain_http) copy.push_back("--src-tls-verify=false");
  copy.insert(copy.end(), {SourceOf(plan), "oci:" + layout + ":" + kTag});
  if (Status status = Run(plan, Step::kFetch, copy); !status.ok()) return status;
  Result<ImageFacts> facts = ReadImageConfig(layout, kTag);
  if (!facts.ok()) return facts;
  *root = UnpackedRoot();
  // The layers alone: what its config says of users is not asked for.
  const std::vector<std::string> unpack = {"/usr/bin/umoci",    "raw", "unpack", "--rootless", "--image",
                                           layout + ":" + kTag, *root};
  if (Status status = Run(plan, Step::kUnpack, unpack); !status.ok()) return status;
  std::error_code ignored;
  std::filesystem::remove_all(layout, ignored);
  return facts;
}

Result<ImageFacts> UnpackFile(const ImportPlan& plan, std::string* root) {
  *root = UnpackedRoot();
  const std::vector<std::string> unpack = {
      "/usr/bin/unsquashfs", "-no-xattrs", "-no-progress", "-no-exit-code", "-d", *root, kSource};
  if (Status status = Run(plan, Step::kUnpack, unpack); !status.ok()) return status;
  return ImageFacts{};
}

Result<ImageFacts> Make(const ImportPlan& plan) {
  if (::mkdir(Work("tmp").c_str(), 0700) != 0 || ::mkdir(Work("bundle").c_str(), 0700) != 0)
    return Status(StatusCode::kInternal, "there is no room for an image");
  std::string root;
  Result<ImageFacts> facts =
      plan.name.kind == core::ImageKind::kSquashfs ? UnpackFile(plan, &root) : UnpackLayers(plan, &root);
  if (!facts.ok()) return facts;
  Result<ImageFacts> seen = TidyRoot(root);
  if (!seen.ok()) return seen;
  seen->digest = plan.name.digest.empty() ? facts->digest : plan.name.digest;
  seen->workdir = facts->workdir;
  seen->env = std::move(facts->env);
  const std::vector<std::string> pack = {
      "/usr/bin/mksquashfs", root,     kImage,  "-noappend", "-all-root",           "-no-xattrs",
      "-no-progress",        "-quiet", "-comp", "zstd",      "-Xcompression-level", "1"};
  if (Status status = Run(plan, Step::kPack, pack); !status.ok()) return status;
  return seen;
}

}  // namespace

ImageAnswer Import(const ImportPlan& plan) {
  const Result<ImageFacts> facts = Make(plan);
  if (!facts.ok()) return NoImage(facts.status());
  ImageAnswer answer;
  answer.facts = *facts;
  return answer;
}

}  // namespace glim::nodeagent
