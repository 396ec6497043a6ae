#include "scheduler/store/testing/postgres_server.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <pqxx/pqxx>

namespace glim::store {

namespace {

namespace fs = std::filesystem;

std::string Program(const std::string& name) {
  for (const char* directory : {"/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin",
                                "/usr/lib/postgresql/17/bin", "/usr/local/bin", "/usr/bin"}) {
    const std::string path = std::string(directory) + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return name;
}

// Runs to the end, as the user postgres if we are root (PostgreSQL refuses to run as root). Output goes to `log`.
int RunCommand(std::vector<std::string> args, const std::string& log) {
  if (::geteuid() == 0) args.insert(args.begin(), {"runuser", "-u", "postgres", "--"});
  const pid_t child = ::fork();
  if (child == 0) {
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    ::dup2(out, 1);
    ::dup2(out, 2);
    if (::chdir("/") != 0) ::_exit(126);
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

[[noreturn]] void GiveUp(const std::string& what, const std::string& log) {
  std::cerr << "cannot " << what << "\n" << std::ifstream(log).rdbuf() << std::endl;
  std::exit(1);
}

// Lives until the pipe closes, then takes the server away.
[[noreturn]] void Guard(int pipe, const std::string& directory) {
  ::setsid();
  char byte;
  while (::read(pipe, &byte, 1) != 0 && (errno == EINTR || errno == EAGAIN)) {
  }
  RunCommand({Program("pg_ctl"), "-D", directory + "/data", "-m", "immediate", "-w", "stop"}, directory + "/commands");
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  ::_exit(0);
}

}  // namespace

PostgresServer::PostgresServer() {
  std::string name = (fs::temp_directory_path() / "glim-store-pg-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) GiveUp("make " + name, "");
  directory_ = name;
  const std::string log = directory_ + "/commands";
  if (::geteuid() == 0) {
    const passwd* user = ::getpwnam("postgres");
    if (user == nullptr || ::chown(name.c_str(), user->pw_uid, user->pw_gid) != 0) GiveUp("become postgres", log);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) GiveUp("make a pipe", log);
  guard_ = ::fork();
  if (guard_ == 0) {
    ::close(ends[1]);
    Guard(ends[0], directory_);
  }
  ::close(ends[0]);
  alive_ = ends[1];
  if (RunCommand({Program("initdb"), "-D", directory_ + "/data", "-A", "trust", "-U", "postgres", "--no-sync", "-E",
                  "UTF8", "--locale=C"},
                 log) != 0) {
    GiveUp("run initdb", log);
  }
  const std::string options =
      "-c listen_addresses= -c shared_buffers=16MB -c recovery_init_sync_method=syncfs -k " + directory_;
  if (RunCommand(
          {Program("pg_ctl"), "-D", directory_ + "/data", "-w", "-l", directory_ + "/log", "-o", options, "start"},
          log) != 0) {
    GiveUp("start PostgreSQL", directory_ + "/log");
  }
}

PostgresServer::~PostgresServer() {
  ::close(alive_);
  ::waitpid(guard_, nullptr, 0);
}

void PostgresServer::CrashAndRestart() const {
  const std::string log = directory_ + "/commands";
  if (RunCommand({Program("pg_ctl"), "-D", directory_ + "/data", "-m", "immediate", "-w", "-l", directory_ + "/log",
                  "restart"},
                 log) != 0) {
    GiveUp("restart PostgreSQL", log);
  }
}

PostgresServer& SharedPostgres() {
  // Handed to GoogleTest, which ends it after the last test, before any static object of the program goes.
  class Environment final : public testing::Environment {
   public:
    void TearDown() override { server.reset(); }
    std::unique_ptr<PostgresServer> server = std::make_unique<PostgresServer>();
  };
  static auto* environment = static_cast<Environment*>(testing::AddGlobalTestEnvironment(new Environment));
  return *environment->server;
}

TestSchema::TestSchema() {
  static int made = 0;
  name_ = "test_" + std::to_string(++made);
  Execute("CREATE SCHEMA " + name_);
}

TestSchema::~TestSchema() {
  try {
    Execute("DROP SCHEMA " + name_ + " CASCADE");
  } catch (const std::exception& e) {
    ADD_FAILURE() << "cannot drop " << name_ << ": " << e.what();
  }
}

std::string TestSchema::ConnInfo(const std::string& user, const std::string& directory) const {
  return "host=" + (directory.empty() ? SharedPostgres().directory() : directory) + " user=" + user +
         " dbname=postgres options=-csearch_path=" + name_;
}

void TestSchema::Execute(const std::string& sql) const {
  pqxx::connection connection(ConnInfo());
  pqxx::nontransaction(connection).exec(sql);
}

}  // namespace glim::store
