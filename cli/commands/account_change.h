// What the commands about users, teams and quotas share: lists of the registry, one change of it, and how their words
// are read. Main thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace glim::cli {

// "a,b" is two words, "" is none.
std::vector<std::string> WordsOf(const std::string& text);

// A WordCheck: what is wrong with the word, else `number` is set.
std::string ReadWhole(const std::string& word, std::int64_t low, std::int64_t high, std::int64_t* number);

// Makes the change, and says `done`.
Status RunAccountChange(CommandContext& context, const glim::v1::ChangeAccountRequest& request,
                        const std::string& done);

using AccountsTable = std::string (*)(const glim::v1::ListAccountsResponse&, bool colour);
// `list`: the part of the registry that `key` names ("teams"); `none`: what is said when there is nothing.
void AddAccountList(Syntax group, Selection* selection, const char* key, const char* none, const char* help,
                    AccountsTable table);

}  // namespace glim::cli
