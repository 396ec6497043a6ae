// The question before an operator's change, asked on a real terminal: what counts as a yes, and what ends it.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class ConfirmTest : public CliTest {
 protected:
  // Asked whether a node is to be cordoned, with a keyboard before it.
  std::unique_ptr<GlimProcess> Ask(const std::vector<std::string>& more = {}) {
    GlimOptions options = Options();
    options.keyboard = true;
    std::vector<std::string> words = {"admin", "node", "cordon", "n1", "--reason", "a new fan"};
    words.insert(words.end(), more.begin(), more.end());
    auto glim = std::make_unique<GlimProcess>(words, options);
    EXPECT_TRUE(glim->AwaitError("[y/N] "));
    return glim;
  }
  // How often it was done; the dry run that shows what would be is not.
  std::size_t Done() {
    const auto state = server_.Lock();
    const auto done = [](const glim::v1::CordonNodeRequest& request) { return !request.dry_run(); };
    return static_cast<std::size_t>(std::count_if(state->cordons.begin(), state->cordons.end(), done));
  }
};

TEST_F(ConfirmTest, AYesDoesItAndWhatChangesWasShownBefore) {
  std::size_t done = 0;
  for (const char* yes : {"y\n", "yes\n", "  y \n"}) {
    const auto glim = Ask();
    EXPECT_EQ(Done(), done) << "nothing is done before the answer";
    glim->Type(yes);
    const GlimResult result = glim->Finish();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("node n1\n  - in use\n  + cordoned by ora: a new fan\n"));
    EXPECT_EQ(Done(), ++done);
  }
}

TEST_F(ConfirmTest, EverythingElseIsANo) {
  for (const char* no : {"n\n", "\n", "no\n", "yep\n", "Y es\n", "\x04", "\x04y\n"}) {
    const auto glim = Ask();
    glim->Type(no);
    const GlimResult result = glim->Finish();
    EXPECT_EQ(result.exit_code, 1) << no;
    EXPECT_THAT(result.err, HasSubstr("error: nothing was changed")) << no;
  }
  EXPECT_EQ(Done(), 0U);
}

TEST_F(ConfirmTest, CtrlCEndsItAtOnceWhateverIsTypedThen) {
  const auto glim = Ask();
  glim->Type("\x03y\n");
  const GlimResult result = glim->Finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, EndsWith("[y/N] \n"));
  EXPECT_EQ(Done(), 0U);
}

TEST_F(ConfirmTest, ATerminalThatIsGoneIsANo) {
  const auto glim = Ask();
  glim->HangUp();
  EXPECT_NE(glim->Finish().exit_code, 0);
  EXPECT_EQ(Done(), 0U);
}

TEST_F(ConfirmTest, WhoAsksForJsonSeesWhatChangesToo) {
  const auto glim = Ask({"-o", "json"});
  glim->Type("y\n");
  const GlimResult result = glim->Finish();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("+ cordoned by ora: a new fan"));
  EXPECT_EQ(nlohmann::json::parse(result.out)["changed"], true);
}

}  // namespace
}  // namespace glim::cli
