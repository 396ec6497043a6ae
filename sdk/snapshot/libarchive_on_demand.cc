// libarchive's functions that archive.cc calls, for a program that packs seldom and starts often: the first call loads
// the library. libarchive brings nine other libraries along (XML, ICU, compressions), and loading them took a sixth of
// the time of every `glim submit`. A function that is missing here is missing when the program is linked.
//
// A library that cannot be loaded ends the program, as it would have at its start.
#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

void* Find(const char* name) {
  static void* const library = ::dlopen(GLIM_LIBARCHIVE, RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : ::dlsym(library, name);
  if (function != nullptr) return function;
  std::fprintf(stderr, "error: snapshots need %s: %s  [INTERNAL]\n  fix: install Debian's package libarchive13\n",
               GLIM_LIBARCHIVE, ::dlerror());
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace

#define GLIM_FORWARD(result, name, parameters, arguments)                        \
  result name parameters {                                                       \
    static const auto function = reinterpret_cast<decltype(&name)>(Find(#name)); \
    return function arguments;                                                   \
  }

extern "C" {

GLIM_FORWARD(const char*, archive_error_string, (archive * a), (a))

GLIM_FORWARD(archive_entry*, archive_entry_new, (), ())
GLIM_FORWARD(void, archive_entry_free, (archive_entry * e), (e))
GLIM_FORWARD(void, archive_entry_copy_pathname, (archive_entry * e, const char* path), (e, path))
GLIM_FORWARD(void, archive_entry_copy_symlink, (archive_entry * e, const char* target), (e, target))
GLIM_FORWARD(void, archive_entry_set_filetype, (archive_entry * e, unsigned type), (e, type))
GLIM_FORWARD(void, archive_entry_set_mtime, (archive_entry * e, time_t seconds, long nanoseconds),
             (e, seconds, nanoseconds))
GLIM_FORWARD(void, archive_entry_set_perm, (archive_entry * e, mode_t mode), (e, mode))
GLIM_FORWARD(void, archive_entry_set_size, (archive_entry * e, la_int64_t size), (e, size))
GLIM_FORWARD(mode_t, archive_entry_filetype, (archive_entry * e), (e))
GLIM_FORWARD(const char*, archive_entry_hardlink, (archive_entry * e), (e))
GLIM_FORWARD(const char*, archive_entry_pathname, (archive_entry * e), (e))
GLIM_FORWARD(mode_t, archive_entry_perm, (archive_entry * e), (e))
GLIM_FORWARD(la_int64_t, archive_entry_size, (archive_entry * e), (e))
GLIM_FORWARD(const char*, archive_entry_symlink, (archive_entry * e), (e))

GLIM_FORWARD(archive*, archive_write_new, (), ())
GLIM_FORWARD(int, archive_write_set_format_gnutar, (archive * a), (a))
GLIM_FORWARD(int, archive_write_add_filter_zstd, (archive * a), (a))
GLIM_FORWARD(int, archive_write_set_options, (archive * a, const char* options), (a, options))
GLIM_FORWARD(int, archive_write_set_bytes_in_last_block, (archive * a, int bytes), (a, bytes))
GLIM_FORWARD(int, archive_write_open,
             (archive * a, void* target, archive_open_callback* open, archive_write_callback* write,
              archive_close_callback* close),
             (a, target, open, write, close))
GLIM_FORWARD(int, archive_write_header, (archive * a, archive_entry* e), (a, e))
GLIM_FORWARD(la_ssize_t, archive_write_data, (archive * a, const void* bytes, std::size_t size), (a, bytes, size))
GLIM_FORWARD(int, archive_write_finish_entry, (archive * a), (a))
GLIM_FORWARD(int, archive_write_close, (archive * a), (a))
GLIM_FORWARD(int, archive_write_free, (archive * a), (a))

GLIM_FORWARD(archive*, archive_write_disk_new, (), ())
GLIM_FORWARD(int, archive_write_disk_set_options, (archive * a, int flags), (a, flags))

GLIM_FORWARD(archive*, archive_read_new, (), ())
GLIM_FORWARD(int, archive_read_support_filter_zstd, (archive * a), (a))
GLIM_FORWARD(int, archive_read_support_format_tar, (archive * a), (a))
GLIM_FORWARD(int, archive_read_open_memory, (archive * a, const void* bytes, std::size_t size), (a, bytes, size))
GLIM_FORWARD(int, archive_read_next_header, (archive * a, archive_entry** entry), (a, entry))
GLIM_FORWARD(la_ssize_t, archive_read_data, (archive * a, void* bytes, std::size_t size), (a, bytes, size))
GLIM_FORWARD(int, archive_read_free, (archive * a), (a))

}  // extern "C"
