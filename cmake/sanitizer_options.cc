// What the sanitizers' runtimes ask each of our programs for (sanitize.cmake). The environment's ASAN_OPTIONS and its
// like come on top.

#define GLIM_REPORTS "log_path=" GLIM_REPORT_PATH ":log_exe_name=1:exitcode=66"

extern "C" {

const char* __asan_default_options() {
  return GLIM_REPORTS ":detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1";
}

const char* __ubsan_default_options() { return GLIM_REPORTS ":print_stacktrace=1"; }

// Debian's gRPC, libpq and the like are not instrumented: the sanitizer does not see their locks, and would call what
// they hand from thread to thread a race.
const char* __tsan_default_options() { return GLIM_REPORTS ":ignore_noninstrumented_modules=1"; }

}  // extern "C"
