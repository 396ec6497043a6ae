// What the sanitizers' runtimes ask each of our programs for (sanitize.cmake). The environment's ASAN_OPTIONS and its
// like come on top.
#include <unistd.h>

#include <cstdio>

#define GLIM_REPORTS "log_path=" GLIM_REPORT_PATH ":log_exe_name=1:exitcode=66"

extern "C" {

const char* __asan_default_options() {
  return GLIM_REPORTS
      ":detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1"
      ":print_suppressions=0";  // a table of them would be a report file, and so a failure
}

// libpqxx 6.4 loses the small answer (it throws before it wraps it) when a connection breaks under a statement. We hold
// no PGresult ourselves; a pqxx::result that we lost would be reported for itself.
const char* __lsan_default_suppressions() { return "leak:^PQmakeEmptyPGresult$\n"; }

const char* __ubsan_default_options() { return GLIM_REPORTS ":print_stacktrace=1"; }

// Debian's gRPC, libpq and the like are not instrumented: the sanitizer does not see their locks, and would call what
// they hand from thread to thread a race.
const char* __tsan_default_options() { return GLIM_REPORTS ":ignore_noninstrumented_modules=1:history_size=7"; }

// For the same reason, of gRPC's headers, which are compiled with our code. Our own hand-overs to gRPC are told to the
// sanitizer where they happen (sdk/threads/hand_over.h), for a suppression hides more than it seems to: "race" holds
// for every function on either stack, and the name of a function is also the beginning of the names of the lambdas in
// it. "race_top" is about the innermost function alone.
const char* __tsan_default_suppressions() {
  return
      // gRPC's own fields, and the strings and functions in them
      "race_top:^grpc::\n"
      "race:^grpc::internal::CallOpSet<\n"
      "race:^grpc::internal::InterceptorBatchMethodsImpl::\n"
      // its own answer to a method that nobody has: no service of ours is of bytes
      "race:^grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>::\n"
      "race:^grpc::internal::CallbackWithSuccessTag::Clear(\n"
      "race:^grpc::internal::ServerCallbackCall::Unref(\n"
      "race:^grpc::internal::ClientCallbackReaderWriterFactory<\n"
      "race:^grpc::internal::ClientCallbackUnaryImpl::MaybeFinish(\n"
      // what a call of bytes keeps in gRPC's own memory before it begins, the caller's function among it
      "race:grpc::internal::CallbackUnaryCall<grpc::ByteBuffer\n"
      "race_top:^std::function<void (grpc::Status)>\n"
      "race:^grpc::Status::\n"
      "race_top:^std::function<void (bool)>\n"
      "race_top:^std::_Function_base::\n"
      "race_top:^std::__atomic_base<grpc::\n"
      // the reply of a unary call, which gRPC empties when it was sent
      "race:^grpc::internal::DefaultMessageHolder<\n"
      // libstdc++ 12's atomic<shared_ptr> unlocks a reader's pointer in an order too weak for the sanitizer
      "race:^std::_Sp_atomic<\n";
}

__attribute__((weak)) void __ubsan_get_current_report_data(const char** kind, const char** message, const char** file,
                                                           unsigned* line, unsigned* column, char** address);

// Beside ASan, UBSan forgets log_path and writes to standard error; here is its file.
void __ubsan_on_report() {
  const char *kind = "", *message = "", *file = "";
  unsigned line = 0, column = 0;
  char* address = nullptr;
  if (__ubsan_get_current_report_data) {
    __ubsan_get_current_report_data(&kind, &message, &file, &line, &column, &address);
  }
  char name[4096];
  std::snprintf(name, sizeof name, "%s.undefined.%d", GLIM_REPORT_PATH, static_cast<int>(::getpid()));
  if (std::FILE* out = std::fopen(name, "w")) {
    std::fprintf(out, "%s:%u:%u: %s: %s\n", file, line, column, kind, message);
    std::fclose(out);
  }
}

}  // extern "C"
