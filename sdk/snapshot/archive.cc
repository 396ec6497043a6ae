#include "sdk/snapshot/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "sdk/base/snapshot_name.h"
#include "sdk/io/unique_fd.h"
#include "sdk/snapshot/link_rule.h"

namespace glim::snapshot {
namespace {

// No compression is worth waiting for: code is small.
constexpr const char* kCompression = "zstd:compression-level=3";
constexpr std::size_t kBlockBytes = 128 * 1024;
constexpr mode_t kPermissions = 0777;

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
struct FreeWriter {
  void operator()(archive* writer) const { archive_write_free(writer); }
};
struct FreeReader {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using EntryPtr = std::unique_ptr<archive_entry, FreeEntry>;
using WriterPtr = std::unique_ptr<archive, FreeWriter>;
using ReaderPtr = std::unique_ptr<archive, FreeReader>;

std::string WordsOf(archive* a) {
  const char* words = archive_error_string(a);
  return words == nullptr ? "no reason given" : words;
}

Status CannotRead(const std::string& path, int error) {
  return InvalidArgument("code", "cannot read " + path + ": " + std::strerror(error),
                         "let it be readable, or list it in .glimignore");
}

Status HasChanged(const std::string& path) {
  return InvalidArgument("code", path + " changed while it was packed", "try again");
}

// ---- Pack

la_ssize_t Append(archive*, void* target, const void* bytes, std::size_t size) {
  static_cast<std::string*>(target)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

class Packer {
 public:
  explicit Packer(std::string folder) : folder_(std::move(folder)), writer_(archive_write_new()) {}

  Result<Packed> Run(const std::vector<Entry>& entries) {
    archive* writer = writer_.get();
    // GNU's format takes names as the bytes that they are; pax wants to know their encoding.
    if (archive_write_set_format_gnutar(writer) != ARCHIVE_OK || archive_write_add_filter_zstd(writer) != ARCHIVE_OK ||
        archive_write_set_options(writer, kCompression) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block(writer, 1) != ARCHIVE_OK ||
        archive_write_open(writer, &packed_.bytes, nullptr, Append, nullptr) != ARCHIVE_OK) {
      return Fault("begin");
    }
    for (const Entry& entry : entries) {
      if (Status status = Add(entry); !status.ok()) return status;
    }
    if (archive_write_close(writer) != ARCHIVE_OK) return Fault("end");
    return std::move(packed_);
  }

 private:
  Status Fault(const std::string& what) const {
    return Status(StatusCode::kInternal, "cannot write the archive (" + what + "): " + WordsOf(writer_.get()));
  }

  Status Add(const Entry& entry) {
    const std::string path = folder_ + "/" + entry.path;
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return CannotRead(entry.path, errno);
    const EntryPtr header(archive_entry_new());
    archive_entry_copy_pathname(header.get(), entry.path.c_str());
    archive_entry_set_perm(header.get(), info.st_mode & kPermissions);
    archive_entry_set_mtime(header.get(), 0, 0);
    std::string content;
    switch (entry.kind) {
      case Entry::Kind::kFolder:
        if (!S_ISDIR(info.st_mode)) return HasChanged(entry.path);
        archive_entry_set_filetype(header.get(), AE_IFDIR);
        break;
      case Entry::Kind::kLink: {
        if (!S_ISLNK(info.st_mode)) return HasChanged(entry.path);
        Result<std::string> target = ReadLink(path, entry.path);
        if (!target.ok()) return target.status();
        archive_entry_set_filetype(header.get(), AE_IFLNK);
        archive_entry_copy_symlink(header.get(), target->c_str());
        break;
      }
      case Entry::Kind::kFile:
        if (Status status = ReadFile(path, entry.path, &content); !status.ok()) return status;
        archive_entry_set_filetype(header.get(), AE_IFREG);
        archive_entry_set_size(header.get(), static_cast<la_int64_t>(content.size()));
        break;
    }
    if (archive_write_header(writer_.get(), header.get()) != ARCHIVE_OK) return Fault(entry.path);
    if (!content.empty() &&
        archive_write_data(writer_.get(), content.data(), content.size()) != static_cast<la_ssize_t>(content.size())) {
      return Fault(entry.path);
    }
    packed_.content_bytes += static_cast<std::int64_t>(content.size());
    return Status::Ok();
  }

  static Result<std::string> ReadLink(const std::string& path, const std::string& name) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
    if (size < 0) return CannotRead(name, errno);
    std::string text(target, static_cast<std::size_t>(size));
    if (!LinkStaysInside(name, text)) return HasChanged(name);
    return text;
  }

  Status ReadFile(const std::string& path, const std::string& name, std::string* content) const {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd) return CannotRead(name, errno);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) return CannotRead(name, errno);
    if (!S_ISREG(info.st_mode)) return HasChanged(name);
    const auto room = static_cast<std::size_t>(kSnapshotContentBytesMax - packed_.content_bytes);
    std::string buffer(kBlockBytes, '\0');
    for (;;) {
      const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return CannotRead(name, errno);
      if (n == 0) return Status::Ok();
      content->append(buffer.data(), static_cast<std::size_t>(n));
      if (content->size() > room) return HasChanged(name);
    }
  }

  const std::string folder_;
  Packed packed_;
  const WriterPtr writer_;  // goes first: freed in mid-archive, it writes what it still has
};

// ---- Unpack

Status Refused(const std::string& path, const std::string& why) {
  return Status(StatusCode::kInvalidArgument, "its entry '" + path + "' " + why);
}

// "a/b", not "/a", "a//b", "./a" or "a/../b".
bool IsPlainName(const std::string& path) {
  const std::string framed = "/" + path + "/";
  return !path.empty() && path.size() < PATH_MAX && framed.find("//") == std::string::npos &&
         framed.find("/./") == std::string::npos && framed.find("/../") == std::string::npos;
}

class Unpacker {
 public:
  Unpacker() : reader_(archive_read_new()), writer_(archive_write_disk_new()) {}

  // Into the current folder.
  Status Run(std::string_view bytes) {
    archive* reader = reader_.get();
    archive_read_support_filter_zstd(reader);
    archive_read_support_format_tar(reader);
    if (archive_read_open_memory(reader, bytes.data(), bytes.size()) != ARCHIVE_OK) return Spoilt();
    // No times: what was never touched is as old as its unpacking, which programs take better than 1970.
    archive_write_disk_set_options(writer_.get(), ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                                      ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                                                      ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS);
    for (;;) {
      archive_entry* entry = nullptr;
      const int result = archive_read_next_header(reader, &entry);
      if (result == ARCHIVE_EOF) break;
      if (result != ARCHIVE_OK) return Spoilt();
      if (Status status = Take(entry); !status.ok()) return status;
    }
    return archive_write_close(writer_.get()) == ARCHIVE_OK ? Status::Ok() : CannotWrite("the folders");
  }

 private:
  Status Spoilt() const { return Status(StatusCode::kDataLoss, "it is no archive of code: " + WordsOf(reader_.get())); }
  Status CannotWrite(const std::string& what) const {
    return Status(StatusCode::kInternal, "cannot write " + what + ": " + WordsOf(writer_.get()));
  }

  Status Take(archive_entry* entry) {
    const char* name = archive_entry_pathname(entry);
    std::string path = name == nullptr ? "" : name;
    const auto type = archive_entry_filetype(entry);
    if (type == AE_IFDIR && path.size() > 1 && path.back() == '/') path.pop_back();
    if (!IsPlainName(path)) return Refused(path, "has a name that leads out of it");
    if (!seen_.insert(path).second) return Refused(path, "is there twice");
    if (seen_.size() > kSnapshotEntriesMax) return Refused(path, "is one too many");
    mode_t mode = archive_entry_perm(entry) & kPermissions;
    if (archive_entry_hardlink(entry) != nullptr) return Refused(path, "is a hard link");
    if (type == AE_IFDIR) {
      mode |= S_IRWXU;  // or it could not be filled, nor removed
    } else if (type == AE_IFLNK) {
      const char* target = archive_entry_symlink(entry);
      if (target == nullptr || !LinkStaysInside(path, target)) return Refused(path, "is a link that leads out of it");
    } else if (type != AE_IFREG) {
      return Refused(path, "is neither a file, a folder nor a link");
    }
    archive_entry_set_perm(entry, mode);
    if (type != AE_IFREG) archive_entry_set_size(entry, 0);
    const std::int64_t bytes = archive_entry_size(entry);
    if (bytes < 0 || bytes > kSnapshotContentBytesMax - content_bytes_) return Refused(path, "is too large");
    content_bytes_ += bytes;
    if (archive_write_header(writer_.get(), entry) != ARCHIVE_OK) return CannotWrite("'" + path + "'");
    if (Status status = CopyContent(path, bytes); !status.ok()) return status;
    return archive_write_finish_entry(writer_.get()) == ARCHIVE_OK ? Status::Ok() : CannotWrite("'" + path + "'");
  }

  Status CopyContent(const std::string& path, std::int64_t bytes) {
    std::string buffer(kBlockBytes, '\0');
    while (bytes > 0) {
      const la_ssize_t n = archive_read_data(reader_.get(), buffer.data(), buffer.size());
      if (n <= 0 || n > bytes) return n < 0 ? Spoilt() : Refused(path, "is cut short");
      if (archive_write_data(writer_.get(), buffer.data(), static_cast<std::size_t>(n)) < 0) {
        return CannotWrite("'" + path + "'");
      }
      bytes -= n;
    }
    return Status::Ok();
  }

  const ReaderPtr reader_;
  const WriterPtr writer_;
  std::set<std::string> seen_;
  std::int64_t content_bytes_ = 0;
};

}  // namespace

Result<Packed> Pack(const std::string& folder, const std::vector<Entry>& entries) {
  return Packer(folder).Run(entries);
}

Status Unpack(std::string_view archive, int folder) {
  const UniqueFd before(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  // libarchive looks for links in the whole path that it writes to: those above the folder are none of its business.
  if (!before || ::fchdir(folder) != 0) {
    return Status(StatusCode::kInternal, std::string("cannot go to its folder: ") + std::strerror(errno));
  }
  Status status = Unpacker().Run(archive);
  if (::fchdir(before.get()) != 0 && status.ok()) {
    status = Status(StatusCode::kInternal, std::string("cannot go back: ") + std::strerror(errno));
  }
  return status;
}

}  // namespace glim::snapshot
