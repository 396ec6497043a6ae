// A stranger's text on its way to a terminal, in pieces: nothing in it moves the cursor, repaints the screen, or asks
// the terminal for anything. What passes: characters, newline, tab, carriage return, and colours (SGR, ESC [ ... m).
// All other control characters, C1's among them, what nobody sees or what turns text around (IsDeceptive), and broken
// UTF-8 become visible escapes (\x1b, \u009b, \u202e, \xff).
#pragma once

#include <string>
#include <string_view>

namespace glim::cli {

// Not thread-safe. Time in proportion to the text, whatever that is.
class TerminalText {
 public:
  // What of all that came is to be shown next. What may be the beginning of a colour or of a character waits for the
  // rest of it, some bytes.
  std::string Take(std::string_view text);
  // The text has come to its end: what waited. Colours that it has switched on go off.
  std::string End();

 private:
  std::string Show(std::string_view text, bool all);

  std::string waiting_;
  bool coloured_ = false;
};

// Of a whole text; its colours are the caller's.
std::string ForTerminal(std::string_view text);

}  // namespace glim::cli
