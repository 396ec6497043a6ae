#include "cli/login/ask_secret.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <termios.h>
#include <unistd.h>

#include "cli/text/file.h"
#include "cli/text/text.h"

namespace glim::cli {
namespace {

constexpr std::size_t kLineBytesMax = 4096;

Status NoInput() {
  return Status(StatusCode::kInvalidArgument, "nothing came on standard input")
      .WithReason("NO_INPUT")
      .WithFix("paste it into the terminal, or name a file: '< FILE'");
}

// Nothing that is typed is shown while it lives.
class QuietTerminal {
 public:
  QuietTerminal() {
    quiet_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!quiet_) return;
    termios without = before_;
    without.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &without);
  }
  ~QuietTerminal() {
    if (quiet_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;

 private:
  termios before_{};
  bool quiet_ = false;
};

}  // namespace

Result<std::string> AskSecretLine(const std::string& question) {
  std::fprintf(stderr, "%s: ", question.c_str());
  std::fflush(stderr);
  std::string line;
  {
    const QuietTerminal quiet;
    char sign = 0;
    while (line.size() < kLineBytesMax) {
      const ssize_t count = ::read(STDIN_FILENO, &sign, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0 || sign == '\n') break;
      line += sign;
    }
  }
  std::fprintf(stderr, "\n");
  if (Trimmed(line).empty()) return NoInput();
  return line;
}

Result<std::string> ReadSecret(const std::string& question, std::size_t bytes_max) {
  if (::isatty(STDIN_FILENO) == 1) return AskSecretLine(question);
  Result<std::string> text = ReadFile("-", bytes_max);
  if (text.ok() && text->empty()) return NoInput();
  return text;
}

}  // namespace glim::cli
